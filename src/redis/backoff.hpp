// How long to leave alone what does not answer.
#pragma once

#include <chrono>
#include <cstdint>

#include "weir/vocabulary.hpp"

namespace weir::redis {

/// Waits that double, each with some chance on top so that a thousand clients do not come back at
/// once. The chance only lengthens: nobody comes earlier than the plain wait.
///
/// Bound    a wait is from first_for to longest_for + longest_for / 2
/// Threads  one at a time
/// Requires 0 < first_for <= longest_for <= a day
class Backoff {
 public:
  struct Settings {
    std::chrono::nanoseconds first_for = std::chrono::milliseconds{10};
    std::chrono::nanoseconds longest_for = std::chrono::seconds{2};
    std::uint64_t seed = 0;  ///< another for each client
  };

  /// Throws std::invalid_argument where the spans are not as required.
  explicit Backoff(const Settings& settings);

  /// How long to wait after one more failure.
  std::chrono::nanoseconds next() noexcept;

  /// It answered: the next failure is the first again.
  void succeeded() noexcept { plain_for_ = first_for_; }

 private:
  std::chrono::nanoseconds first_for_;
  std::chrono::nanoseconds longest_for_;
  std::chrono::nanoseconds plain_for_;
  std::uint64_t random_;
};

}  // namespace weir::redis
