// The password that clients must know.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <string>
#include <string_view>

namespace weir::server {

/// What a client says of itself.
struct Credentials {
  std::string_view user;
  std::string_view secret;
};

/// Kept as a digest.
///
/// Threads  any
/// Cost     matches() takes the same time whatever is wrong
class Password {
 public:
  /// Whether clients are asked; false until the first set().
  bool required() const noexcept { return required_.load(std::memory_order_relaxed); }

  void set(std::string_view secret);

  /// Whether this is the user `default` with the password. Requires required().
  bool matches(const Credentials& credentials) const;

 private:
  using Digest = std::array<unsigned char, 32>;
  static Digest digest_of(std::string_view text);

  std::atomic<bool> required_{false};
  mutable std::mutex mutex_;
  Digest digest_{};
};

}  // namespace weir::server
