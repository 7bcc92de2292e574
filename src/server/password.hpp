// The password that clients must know.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <string>
#include <string_view>

#include "server/start_error.hpp"
#include "weir/vocabulary.hpp"

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

/// Of a password, in bytes: no more can be sent before authentication.
inline constexpr std::size_t longest_password = 1024;

/// A password's file: its text without a line end behind it.
struct SecretFile {
  std::string secret;
  bool world_readable = false;
};
Expected<SecretFile, StartError> read_secret(const std::string& path);

}  // namespace weir::server
