// Chance that is the same everywhere: no two machines disagree on what a seed brings.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>

namespace weir::cli {

/// Waits as they are in a Poisson process. Neither std::exponential_distribution nor a logarithm:
/// what these give differs between libraries, and a picture is compared byte by byte.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : source_(seed) {}

  /// Exponential, of mean 1. Von Neumann's way, which only compares: a run of falling numbers is
  /// of odd length with the probability e^-first, and each run of even length adds 1.
  double wait() {
    for (double whole = 0;; ++whole) {
      const std::uint64_t first = source_();
      std::uint64_t last = first;
      bool odd = true;
      for (std::uint64_t next = source_(); next < last; next = source_()) {
        last = next;
        odd = !odd;
      }
      if (odd) return whole + static_cast<double>(first >> 11) * 0x1p-53;
    }
  }

  std::chrono::nanoseconds wait(std::chrono::nanoseconds mean) {
    return std::chrono::nanoseconds{
        static_cast<std::int64_t>(static_cast<double>(mean.count()) * wait())};
  }

 private:
  std::mt19937_64 source_;
};

}  // namespace weir::cli
