// From instants and counts to places in a picture.
#pragma once

#include "cli/admissions.hpp"
#include "cli/svg.hpp"

namespace weir::cli {

struct TimeScale {
  Frame frame;
  svg::Tenths left;
  svg::Tenths right;

  svg::Tenths x(Instant at) const {
    std::int64_t offset = (at - frame.first).count();
    std::int64_t length = (frame.last - frame.first).count();
    // Years of microseconds times tenths would not fit; a place does not need the lowest bits.
    while (length >= (std::int64_t{1} << 48)) {
      length /= 2;
      offset /= 2;
    }
    return left + offset * (right - left) / length;
  }
};

struct CountScale {
  Cost most;  ///< at this height
  svg::Tenths tallest;
  Cost step;  ///< between counts that are worth a line

  svg::Tenths height(Cost count) const {
    Cost top = most;
    while (top >= (Cost{1} << 48)) {
      top /= 2;
      count /= 2;
    }
    return count * tallest / top;
  }
};

struct CountRoom {
  Cost most;
  svg::Tenths tallest;
};

/// With lines that are 1, 2 or 5 times a power of ten apart, and far enough to have a number each.
inline CountScale count_scale(const CountRoom& room) {
  const Cost lines = room.tallest / svg::units(17);
  for (Cost power = 1;; power *= 10) {
    for (const Cost times : {1, 2, 5}) {
      if (room.most / (times * power) <= lines) return {room.most, room.tallest, times * power};
    }
  }
}

}  // namespace weir::cli
