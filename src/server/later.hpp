// A reply that is owed.
#pragma once

#include <memory>
#include <new>
#include <string>
#include <utility>

#include "server/connection.hpp"
#include "wire/resp_reply.hpp"

namespace weir::server {

/// The reply to the command at hand, to be written when its answer comes: once, on any thread, also
/// before the command returns, and after the connection's end.
class Later {
 public:
  /// Requires a connection with a return address.
  explicit Later(CommandContext& context)
      : worker_(&context),
        address_(context.connection->address),
        place_(address_->reserve()),
        protocol_(context.connection->protocol) {}

  /// tell(worker, answer, reply) writes exactly one reply, on the connection's thread; its counts
  /// count also where the connection is gone. Without memory for it the reply is lost, and the
  /// session, which then waits in vain, gives up (Session::tick).
  template <typename Answer, typename Tell>
  void write(Answer&& answer, Tell&& tell) const noexcept {
    try {
      if (address_->here()) return write_here(answer, tell);
      address_->post([later = *this, answer = std::forward<Answer>(answer),
                      tell = std::forward<Tell>(tell)]() mutable { later.write(answer, tell); });
    } catch (const std::bad_alloc&) {
      worker_->service.log.write(LogKind::out_of_memory,
                                 {{"lost", "a reply"}, {"mend", "lower --max-connections"}});
    }
  }

 private:
  template <typename Answer, typename Tell>
  void write_here(Answer& answer, Tell& tell) const {
    std::string text;
    wire::ReplyWriter reply(text, protocol_);
    tell(*worker_, answer, reply);
    address_->deliver(place_, std::move(text));
  }

  WorkerContext* worker_;
  std::shared_ptr<ReturnAddress> address_;
  std::uint64_t place_;
  wire::Protocol protocol_;
};

}  // namespace weir::server
