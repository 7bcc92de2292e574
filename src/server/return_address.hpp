// Where answers go that come later than their commands.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "server/replies.hpp"

namespace weir::server {

/// A connection as answers see it that come on any thread, perhaps after its end. They share it.
///
/// Threads  here() and post() from any; the rest on the connection's
class ReturnAddress {
 public:
  /// Until gone().
  explicit ReturnAddress(Replies& replies) : replies_(&replies) {}
  virtual ~ReturnAddress() = default;
  ReturnAddress(const ReturnAddress&) = delete;
  ReturnAddress& operator=(const ReturnAddress&) = delete;

  /// Whether this is the connection's thread.
  virtual bool here() const = 0;
  /// Has the action run there, soon.
  virtual void post(std::function<void()> action) = 0;

  /// Keeps a place for the reply to the command at hand.
  std::uint64_t reserve() { return replies_->reserve(); }

  /// Puts the reply into its place, if the connection is still there.
  void deliver(std::uint64_t place, std::string&& reply) {
    if (replies_ && replies_->fill(place, std::move(reply))) ready();
  }

  void gone() noexcept { replies_ = nullptr; }
  bool is_gone() const noexcept { return replies_ == nullptr; }

 protected:
  /// There is more to send.
  virtual void ready() = 0;

 private:
  Replies* replies_;
};

}  // namespace weir::server
