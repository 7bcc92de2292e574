// Limits as people write them, and the machine that a text stands for.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/algorithm/all_of.hpp"
#include "weir/algorithm/any_of.hpp"
#include "weir/algorithm/block.hpp"
#include "weir/algorithm/boxed.hpp"
#include "weir/algorithm/calendar_window.hpp"
#include "weir/algorithm/concurrency.hpp"
#include "weir/algorithm/gcra.hpp"
#include "weir/algorithm/leaky_bucket.hpp"
#include "weir/algorithm/sliding_log.hpp"
#include "weir/algorithm/sliding_window.hpp"

namespace weir {

/// One term of a limit: the numbers as written, defaults filled in.
struct LimitTerm {
  enum class Algorithm : std::uint8_t {
    token_bucket,  ///< also written gcra
    leaky_bucket,
    fixed_window,
    sliding_window,
    sliding_log,
    concurrency,      ///< its period is the lease
    calendar_window,  ///< its period is the longest of its units
  };

  Algorithm algorithm = Algorithm::token_bucket;
  Cost count = 1;
  Span period{1'000'000};
  Cost burst = 1;    ///< token bucket; count unless written
  Cost queue = 0;    ///< leaky bucket
  Cost parts = 10;   ///< sliding window
  Cost initial = 1;  ///< token bucket: tokens at the start; burst unless written
  Span block{0};     ///< penalty after a refusal; 0: none
  CalendarUnit unit = CalendarUnit::day;  ///< calendar window
  std::string zone = "UTC";               ///< calendar window: a name of the time zone database

  /// How long each window is; none where the calendar has longer and shorter ones.
  std::optional<Span> window() const noexcept {
    if (algorithm == Algorithm::calendar_window) return {};
    return period;
  }

  bool operator==(const LimitTerm&) const = default;
};

const char* name(LimitTerm::Algorithm algorithm) noexcept;

/// Where and why a text is no limit.
struct LimitError {
  std::size_t column;   ///< of the text, from 1
  std::string message;  ///< what was expected there, or what is wrong with the number there

  bool operator==(const LimitError&) const = default;
};

/// A limit: what may be granted to one key, as text, as numbers and as a machine.
///
///   limit     = [algorithm] count "/" period { option } { "&" limit }
///   algorithm = token-bucket (default) | gcra | leaky-bucket | fixed-window | sliding-window |
///               sliding-log | concurrency (count at once, for a period at most) |
///               calendar-window (its period: minute | hour | day | week | month | year)
///   count     = positive integer, optionally with k or M      period = [number] unit
///   option    = burst N | queue N | parts N | initial N | zone NAME | block DURATION
///
/// Threads  a Limit does not change once made; share it freely
/// Errors   parse() names the column and what was expected there
class Limit {
 public:
  /// One term without a penalty; by far the commonest limit.
  using Single =
      AnyOf<Gcra, LeakyBucket, FixedWindow, SlidingWindow, SlidingLog, Concurrency, CalendarWindow>;
  /// Several terms, or one with a penalty.
  using Composite = AllOf<Block<Single>>;
  /// The algorithm of any limit. A single term's state costs no more than it would alone.
  using Machine = AnyOf<Gcra, LeakyBucket, FixedWindow, SlidingWindow, SlidingLog, Concurrency,
                        CalendarWindow, Boxed<Composite>>;
  using State = Machine::State;

  static constexpr std::size_t longest_text = 512;

  static Expected<Limit, LimitError> parse(std::string_view text);
  /// For a text that a program brings along: throws std::invalid_argument with the error's words.
  static Limit of(std::string_view text);

  /// The canonical text: parse(text()) gives an equal limit, and equal limits have equal texts.
  const std::string& text() const noexcept { return text_; }
  const std::vector<LimitTerm>& terms() const noexcept { return terms_; }
  /// The term of a limit that has one; null where there are several.
  const LimitTerm* only_term() const noexcept {
    return terms_.size() == 1 ? &terms_.front() : nullptr;
  }
  const Machine::Config& config() const noexcept { return config_; }

  /// Whether a key starts as one never seen. Keyed hosts need that: they drop fresh states, and a
  /// dropped key must not answer otherwise than a kept one.
  bool starts_full() const noexcept;

  /// The term whose grants are permits; most limits have none, and none has two.
  std::optional<std::size_t> permit_term() const noexcept;

  /// Whether units may be taken ahead by who spends them later: not those that keep their distance
  /// (a leaky bucket), have holders (permits), or shut a key out that is refused them (a penalty).
  bool leasable() const noexcept;

  /// The memory of one key's state when it is largest, its key left out.
  std::size_t largest_state_bytes() const noexcept;

  /// The state at the beginning: never seen, but for the tokens that `initial` withholds.
  State first_state(Instant now) const;

  bool operator==(const Limit& other) const { return terms_ == other.terms_; }

 private:
  Limit() = default;

  std::vector<LimitTerm> terms_;
  std::string text_;
  Machine::Config config_;
};

}  // namespace weir
