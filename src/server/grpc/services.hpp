// What clients may call, and how it answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "server/dialogue.hpp"
#include "server/grpc/protocol.hpp"

namespace google::protobuf {
class MessageLite;
}

namespace weir::server::grpc {

/// Where a connection's calls are answered.
class Answering {
 public:
  Answering() = default;
  virtual ~Answering() = default;
  Answering(const Answering&) = delete;
  Answering& operator=(const Answering&) = delete;

  virtual void send(std::int32_t stream, std::string_view message) = 0;
  virtual void finish(std::int32_t stream, Status status) = 0;
};

/// A connection as its replies see it. They share it and may outlive it.
struct AnswerAddress {
  Answering* there;  ///< null once the connection is gone; for the connection's thread
  std::shared_ptr<Carrier> carrier;
};

/// The answer that a call is owed. Copies are the same reply; what comes after its end, or the
/// call's, or the connection's, is dropped.
///
/// Threads  post() on any; the rest on the connection's
class Reply {
 public:
  /// `awaited`: how long whoever asked, or the connection, waits for it.
  Reply(std::shared_ptr<AnswerAddress> address, std::int32_t stream,
        std::chrono::nanoseconds awaited = std::chrono::hours(1))
      : address_(std::move(address)), stream_(stream), awaited_(awaited) {}

  std::chrono::nanoseconds awaited() const noexcept { return awaited_; }

  /// One message more, in protobuf's encoding. A unary call has one, before it is finished.
  void send(std::string_view message) const {
    if (address_->there) address_->there->send(stream_, message);
  }
  void send(const google::protobuf::MessageLite& message) const;

  /// No more messages. A unary call without one needs a status that is not ok.
  void finish(Status status = {}) const {
    if (address_->there) address_->there->finish(stream_, std::move(status));
  }

  /// Has the action run on the connection's thread, soon; not at all once the connection is gone.
  void post(std::function<void(const Reply&)> action) const {
    address_->carrier->post([reply = *this, action = std::move(action)] { action(reply); });
  }

 private:
  std::shared_ptr<AnswerAddress> address_;
  std::int32_t stream_;
  std::chrono::nanoseconds awaited_;
};

/// The server's side of one call in which either side may send several messages.
///
/// Threads  one at a time, the connection's
class Conversation {
 public:
  Conversation() = default;
  virtual ~Conversation() = default;
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  /// The client's next message. Its answer may wait for room, and the next message for that.
  virtual void hear(std::string_view message, const Reply& reply) = 0;
  /// The client has no more messages.
  virtual void hear_end(const Reply& reply) = 0;
  /// Once a second.
  virtual void tick(const Reply& reply) = 0;
  /// The server ends: the last that is to be said, without finish().
  virtual void drain(const Reply& reply) = 0;
};

/// A call with one message each way: answered now or later, once. The view lives until it returns.
using Unary = std::function<void(std::string_view message, Reply reply)>;
/// Begins a conversation.
using Streaming = std::function<std::unique_ptr<Conversation>()>;
using Method = std::variant<Unary, Streaming>;

/// The methods of a server by their path, "/package.Service/Method".
///
/// Threads  any, once all are added
class Services {
 public:
  void add(std::string path, Method method) { methods_[std::move(path)] = std::move(method); }

  /// Null where there is none.
  const Method* find(std::string_view path) const {
    const auto found = methods_.find(path);
    return found == methods_.end() ? nullptr : &found->second;
  }

  /// The services' full names, each once, in order.
  std::vector<std::string> names() const;

 private:
  std::map<std::string, Method, std::less<>> methods_;
};

}  // namespace weir::server::grpc
