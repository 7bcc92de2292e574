// The answer that a request is owed: now, or later.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "server/dialogue.hpp"
#include "server/http/http_date.hpp"
#include "server/http/http_message.hpp"
#include "server/replies.hpp"

namespace weir::server {

/// The answers of one connection, in the order of its requests; shared with those that come later.
///
/// Threads  the connection's
struct HttpOutbox {
  Replies replies{};
  std::shared_ptr<Carrier> carrier;
  const HttpDate& date;  ///< of the worker, which outlives its connections
  bool gone = false;     ///< the connection has ended: what comes is dropped
  bool came = false;     ///< an answer came since the last tick

  void deliver(std::uint64_t place, std::string&& answer) {
    if (gone) return;
    came = true;
    replies.fill(place, std::move(answer));
    carrier->resume();
  }
};

class HttpLater;

/// Writes the answer to the request at hand: its handler calls send(), or later(), once.
class HttpReply {
 public:
  HttpReply(std::shared_ptr<HttpOutbox> outbox, HttpFraming framing)
      : outbox_(std::move(outbox)), framing_(framing) {}

  void send(const HttpAnswer& answer) {
    write_answer(answer, framing_, outbox_->date.text(), outbox_->replies.tail());
    done_ = true;
  }

  /// The same, and the connection ends with it.
  void send_last(const HttpAnswer& answer) {
    framing_.close = true;
    send(answer);
  }

  /// Keeps the answer's place, before those of all requests to come.
  HttpLater later();

  /// Whether the handler has done either.
  bool done() const noexcept { return done_; }
  /// Whether the connection ends with this answer.
  bool last() const noexcept { return framing_.close; }

 private:
  std::shared_ptr<HttpOutbox> outbox_;
  HttpFraming framing_;
  bool done_ = false;
};

/// An answer that is owed, once; also after the connection's end, where it is dropped.
///
/// Threads  the connection's
class HttpLater {
 public:
  HttpLater(std::shared_ptr<HttpOutbox> outbox, HttpFraming framing)
      : outbox_(std::move(outbox)), place_(outbox_->replies.reserve()), framing_(framing) {}

  void send(const HttpAnswer& answer) const {
    std::string text;
    write_answer(answer, framing_, outbox_->date.text(), text);
    outbox_->deliver(place_, std::move(text));
  }

 private:
  std::shared_ptr<HttpOutbox> outbox_;
  std::uint64_t place_;
  HttpFraming framing_;
};

inline HttpLater HttpReply::later() {
  done_ = true;
  return {outbox_, framing_};
}

/// The answer of a handler that does not know whether it comes before the handler returns; shared
/// with what brings it.
///
/// Threads  the connection's
class OwedAnswer {
 public:
  void send(HttpAnswer&& answer) {
    if (later_) return later_->send(answer);
    now_ = std::move(answer);
  }

  /// At the handler's end.
  void send_or_keep_place(HttpReply& reply) {
    if (now_) return reply.send(*now_);
    later_ = reply.later();
  }

 private:
  std::optional<HttpAnswer> now_{};
  std::optional<HttpLater> later_{};
};

}  // namespace weir::server
