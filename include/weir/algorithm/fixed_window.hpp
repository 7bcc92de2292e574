// The fixed window counter.
#pragma once

#include <algorithm>

#include "weir/algorithm/window_counter.hpp"

namespace weir {

/// The window of the given width, aligned to the clock's epoch, that an instant lies in.
constexpr Instant window_of(Instant at, Span width) noexcept {
  const std::int64_t ticks = at.time_since_epoch().count();
  std::int64_t into = ticks % width.count();
  if (into < 0) into += width.count();
  return at - Span{into};
}

/// How many aligned windows of the width a half-open span of this length can touch.
constexpr std::int64_t windows_touched(Span length, Span width) noexcept {
  return length <= Span{1} ? length.count() : (length - Span{2}) / width + 2;
}

/// The numbers of a fixed window.
struct AlignedWindows {
  Cost limit = 1;
  Span period{1};

  constexpr Window window_at(Instant at) const noexcept {
    const Instant begin = window_of(at, period);
    return {begin, begin + period};
  }
  bool operator==(const AlignedWindows&) const = default;
};

/// Fixed window: a counter that starts again when the window turns.
///
/// Bound    limit for each window touched: twice the limit across one boundary, within an instant
/// Memory   16 bytes a key
/// Refusal  leaves the state as it was
/// Source   the counter with expiry that every key-value store can keep
struct FixedWindow : WindowCounter<AlignedWindows> {
  struct Settings {
    Cost count;
    Span period;
  };

  /// Errors:
  ///   not_positive  a number is zero or less
  ///   too_long      period above longest_span, or count above 2^50
  static constexpr Expected<Config, ConfigError> configure(Settings wanted) noexcept {
    if (wanted.count <= 0 || wanted.period <= Span{0}) return ConfigError::not_positive;
    if (wanted.period > longest_span || wanted.count > longest_span.count()) {
      return ConfigError::too_long;
    }
    return Config{wanted.count, wanted.period};
  }

  /// One period further than the grants that may be there: a window that begins a second time is
  /// not granted a second time.
  static constexpr void settle(const Config& config, State& state, Instant now,
                               Span slack) noexcept {
    const Instant latest = now + slack + config.period;
    if (state.window > latest) state.window = window_of(latest, config.period);
  }

  static constexpr Cost bound(const Config& config, Span length, Cost) noexcept {
    if (length <= Span{0}) return 0;
    return granted_in(windows_touched(length, config.period), config.limit);
  }
};

}  // namespace weir
