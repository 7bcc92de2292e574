// A window of time that slides by parts.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "weir/steady_instant.hpp"

namespace weir {

/// What was counted in the last parts of time, the current one among them. A reading of the clock
/// from before the current part counts in the current part, so time never goes back.
///
/// Memory   Most * sizeof(Part) and 24 bytes
template <typename Part, std::size_t Most>
class RecentParts {
 public:
  struct Shape {
    std::chrono::nanoseconds part{};  ///< how long one is; from a microsecond
    std::size_t parts = 1;            ///< 1 to Most
    bool operator==(const Shape&) const = default;
  };

  /// Goes on to the part in which `now` lies. forget(part) hears of each that leaves the window;
  /// returns how many did.
  template <typename Forget>
  std::size_t advance(const Shape& shape, SteadyInstant now, Forget&& forget) {
    const std::int64_t number = number_of(shape, now);
    if (number <= newest_) return 0;
    const auto parts = static_cast<std::int64_t>(shape.parts);
    const std::int64_t steps = number >= newest_ + parts ? parts : number - newest_;
    for (std::int64_t step = 0; step < steps; ++step) {
      at_ = (at_ + 1) % shape.parts;
      forget(parts_[at_]);
      parts_[at_] = Part{};
    }
    newest_ = number;
    return static_cast<std::size_t>(steps);
  }

  Part& current() noexcept { return parts_[at_]; }
  const Part& current() const noexcept { return parts_[at_]; }

  /// The part that leaves the window next.
  const Part& oldest(const Shape& shape) const noexcept { return parts_[(at_ + 1) % shape.parts]; }

  /// All of them, in no order.
  std::span<const Part> all(const Shape& shape) const noexcept {
    return std::span(parts_).first(shape.parts);
  }

 private:
  static std::int64_t number_of(const Shape& shape, SteadyInstant now) noexcept {
    const std::int64_t ns = now.time_since_epoch().count();
    const std::int64_t part = shape.part.count();
    return ns / part - (ns % part < 0 ? 1 : 0);
  }

  std::int64_t newest_ = std::numeric_limits<std::int64_t>::min();  ///< number of the current part
  std::size_t at_ = 0;
  std::array<Part, Most> parts_{};
};

}  // namespace weir
