// Room for messages that are long, which the connections of a thread share.
#pragma once

#include <cstddef>

namespace weir::server::grpc {

/// How much all of them may hold of messages that have not ended, beyond what each has for itself
/// (Http2Limits::request_bytes).
///
/// Threads  one at a time
class MessageRoom {
 public:
  static constexpr std::size_t usual = std::size_t{64} << 20;

  explicit MessageRoom(std::size_t bytes = usual) noexcept : left_(bytes) {}

  /// False, and nothing is taken, where less is left.
  bool take(std::size_t bytes) noexcept {
    if (bytes > left_) return false;
    left_ -= bytes;
    return true;
  }
  void give_back(std::size_t bytes) noexcept { left_ += bytes; }

  std::size_t left() const noexcept { return left_; }

 private:
  std::size_t left_;
};

}  // namespace weir::server::grpc
