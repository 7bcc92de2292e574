// What the handlers of one worker's HTTP requests ask with.
#pragma once

#include "server/connection.hpp"
#include "server/http/http_reply.hpp"
#include "server/worker_thread.hpp"

namespace weir::server {

struct HttpContext : DecisionContext {
  WorkerThread& thread;  ///< that of the worker
};

/// The answer to a request, to be sent when the store's comes.
class LaterAnswer {
 public:
  LaterAnswer(HttpContext& context, HttpLater later)
      : context_(&context), later_(std::move(later)) {}

  /// tell(worker, answer, later) sends exactly one answer, on the connection's thread; its counts
  /// count also where the connection is gone. Without memory for it the answer is lost, and the
  /// dialogue, which then waits in vain, gives up (HttpDialogue::tick).
  template <typename Answer, typename Tell>
  void write(Answer&& answer, Tell&& tell) const noexcept {
    WorkerContext& worker = *context_;
    try {
      if (context_->thread.here()) return tell(worker, answer, later_);
      context_->thread.post([to = *this, answer = std::forward<Answer>(answer),
                             tell = std::forward<Tell>(tell)]() mutable {
        tell(static_cast<WorkerContext&>(*to.context_), answer, to.later_);
      });
    } catch (const std::bad_alloc&) {
      worker.service.log.write(LogKind::out_of_memory,
                               {{"lost", "a reply"}, {"mend", "lower --max-connections"}});
    }
  }

 private:
  HttpContext* context_;
  HttpLater later_;
};

/// Why the store does not say what was given back: see ask_to_give_back().
void write_trouble(WorkerContext& worker, const redis::Trouble& trouble, const HttpLater& reply);

inline LaterAnswer later_for(HttpContext& context, HttpReply& reply) {
  return {context, reply.later()};
}

}  // namespace weir::server
