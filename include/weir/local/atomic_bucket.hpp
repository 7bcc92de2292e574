// The token bucket in one atomic word.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "weir/algorithm/gcra.hpp"
#include "weir/local/host.hpp"
#include "weir/local/tick_scale.hpp"

namespace weir {

using Oversize = Gcra::Oversize;

/// Keeps a GCRA in one word that a decision reads, and a grant swaps; a refusal writes nothing.
///
/// The word counts half ticks (TickScale) modulo 2^64 and is compared by differences, so it never
/// wraps around while it is asked once in 30 years. Its lowest bit says that the word is set aside.
///
/// The lock is for all that is not a decision here and now: places in line, changes, refunds. It is
/// held with the word set aside; who meets that waits for the lock. When the numbers change, the
/// new words are all above the old: so the word is also the sequence number of the numbers. Who
/// read the word, then the numbers, and then finds the same word, has read numbers that belong
/// together.
class AtomicWord {
 public:
  using Machine = Gcra;

  enum class Gate : std::uint8_t {
    limited,    ///< by the numbers
    closed,     ///< nothing is ever granted
    unlimited,  ///< everything is granted at once: 2^60 units, and 10^9 more a second
  };

  struct Config {
    Gcra::Config bucket;  ///< in ticks
    TickScale scale;
    Gate gate = Gate::limited;
  };

  struct Settings {
    Cost count;  ///< units in each period
    std::chrono::nanoseconds period;
    Cost burst;         ///< units granted at once after a rest
    Cost withheld = 0;  ///< units of the burst that are not there at the start
    Oversize oversize = Oversize::impossible;
    Gate gate = Gate::limited;

    static constexpr Settings every(std::chrono::nanoseconds interval, Cost burst) noexcept {
      return {.count = 1, .period = interval, .burst = burst};
    }
    /// Rates of nothing and of everything. Put in force on a limiter that has numbers, they leave
    /// its balance as it stands; the next numbers go on from there, whatever was taken meanwhile.
    static constexpr Settings closed() noexcept { return gated(Gate::closed); }
    static constexpr Settings unlimited() noexcept { return gated(Gate::unlimited); }

   private:
    static constexpr Settings gated(Gate gate) noexcept {
      return {.count = 0, .period = {}, .burst = 0, .gate = gate};
    }
  };

  /// Errors
  ///   not_positive  a number is zero or less; for a rate of nothing see Settings::closed()
  ///   too_fast      above 10^9 units a second
  ///   too_long      the interval, or the time to refill, is above 2^60 ticks (18 years or more)
  ///   too_full      more withheld than the burst
  static Expected<Config, ConfigError> configure(const Settings& wanted) noexcept {
    if (wanted.gate != Gate::limited) return gated(wanted.gate);
    const auto scale = TickScale::of({wanted.count, wanted.period});
    if (!scale) return scale.error();
    const auto bucket = Gcra::configure(scale->interval(), wanted.burst, TickScale::longest, 1);
    if (!bucket) return bucket.error();
    if (wanted.withheld < 0) return ConfigError::not_positive;
    if (wanted.withheld > wanted.burst) return ConfigError::too_full;
    Config config{*bucket, *scale};
    if (wanted.oversize == Oversize::pay_over_time) {
      config.bucket.largest = Gcra::largest_within(scale->interval(), TickScale::longest, 1);
    }
    return config;
  }

  static Gcra::State first(const Settings& wanted, const Config& config, SteadyInstant now) {
    if (wanted.withheld == 0 || wanted.gate != Gate::limited) return {};
    const Instant tick{Span{static_cast<std::int64_t>(config.scale.ticks(now.time_since_epoch()))}};
    return Gcra::holding(config.bucket, tick, wanted.burst - wanted.withheld);
  }

  explicit AtomicWord(const Config& config) : config_(config) { publish_config(); }

  /// Decides; false where the word is aside, or was changed meanwhile. A negative cost is
  /// impossible. Inlined always: who does not ask for ready_at does not pay for it.
  /// It takes `cost` only where `keep` units more are there; that is no less than 0.
  [[gnu::always_inline]] bool try_take(SteadyInstant now, Cost cost, Outcome& outcome,
                                       Cost keep = 0) noexcept {
    const std::uint64_t word = word_.load(std::memory_order_acquire);
    const std::uint64_t factor = ticks_in_ns_.load(std::memory_order_acquire);
    const std::uint64_t offset = offset_.load(std::memory_order_acquire);
    const std::uint64_t unit = unit_.load(std::memory_order_acquire);
    std::uint64_t slack = slack_.load(std::memory_order_acquire);
    // One that is aside is not found again below, unless it was put back as it was meanwhile: so
    // nothing here may come of the mark.
    std::uint64_t whole = word & ~aside;
    if (cost != 1 || keep != 0) {
      if (above_burst(cost, keep)) {
        outcome = {Verdict::impossible, Refusal::limit, SteadyInstant::max()};
        return word_.load(std::memory_order_relaxed) == whole;
      }
      slack -= static_cast<std::uint64_t>(cost - 1 + keep) * unit;
    }
    const std::uint64_t at = offset + 2 * TickScale::ticks(now.time_since_epoch().count(), factor);
    if (difference(whole, at) > static_cast<std::int64_t>(slack)) {
      const TickScale scale{factor, ns_in_tick_.load(std::memory_order_acquire), 0};
      outcome = {Verdict::denied, Refusal::limit, steady(scale, offset, whole - slack)};
      if (unit == 0) [[unlikely]]
        outcome = closed(now, cost);
      return word_.load(std::memory_order_relaxed) == whole;
    }
    outcome = {Verdict::granted, Refusal::none, now};
    if (cost == 0) return word_.load(std::memory_order_relaxed) == whole;
    const std::uint64_t start = difference(whole, at) > 0 ? whole : at;
    return word_.compare_exchange_strong(whole, start + static_cast<std::uint64_t>(cost) * unit,
                                         std::memory_order_acq_rel, std::memory_order_relaxed);
  }

  bool is_aside() const noexcept { return (word_.load(std::memory_order_relaxed) & aside) != 0; }

  const Gcra::Config& config() const noexcept { return config_.bucket; }

  // Under the lock an instant is a number of ticks since the epoch of the steady clock.
  Instant ticks(SteadyInstant now) const noexcept {
    return Instant{Span{static_cast<std::int64_t>(config_.scale.ticks(now.time_since_epoch()))}};
  }
  SteadyInstant steady(Instant tick) const noexcept {
    return SteadyInstant{config_.scale.nanoseconds(tick.time_since_epoch().count())};
  }
  Span span(std::chrono::nanoseconds length) const noexcept {
    constexpr std::chrono::nanoseconds most{TickScale::longest.count()};  // a tick is no longer
    const auto ticks = static_cast<std::int64_t>(config_.scale.ticks(std::min(length, most)));
    return std::min(Span{ticks}, TickScale::longest);
  }

  void open(Line<Gcra>& line) {
    if (held_) return;  // all that has come since came with the lock
    // Whoever read the word before finds another one when it comes to swap it.
    const std::uint64_t word = word_.fetch_or(aside, std::memory_order_acq_rel);
    if (difference(word, highest_) > 0) highest_ = word;
    if (word == published_ && !line.empty()) return;
    // Grants came without the lock; so all who were in line are due, by the newest clock.
    const std::uint64_t unit = std::uint64_t{2} << config_.scale.shift;
    line.count(static_cast<Cost>((word - published_ + unit - 1) / unit));  // or less, after a rest
    line.pass_all(config_.bucket);
    line.set_state({FineInstant{tick_of(word), 0}});
  }

  void close(Line<Gcra>& line, SteadyInstant now) noexcept {
    const Instant repaid = std::max(line.state().repaid_at.whole, begin_);
    // A word cannot tell that newcomers find units, but not before those in line act.
    held_ = line.last_at() > ticks(now) && repaid < line.last_at() + config_.bucket.capacity.whole;
    if (held_) return;
    published_ = word_of(repaid);
    word_.store(published_, std::memory_order_release);
  }

  template <typename Tell>
  void reconfigure(Line<Gcra>& line, Instant now, const Config& to, Inherit how, Tell&& tell) {
    if (to.gate != Gate::limited && config_.gate == Gate::limited) {
      kept_ = {config_.bucket, how == Inherit::reset ? Gcra::State{} : line.state(), now};
    }
    const Config before = std::exchange(config_, to);
    const auto translate = [&](Instant instant) {
      return ticks(SteadyInstant{before.scale.nanoseconds(instant.time_since_epoch().count())});
    };
    begin_ = translate(now);
    line.reconfigure(
        to.bucket, begin_,
        [&](const Gcra::State& state) {
          if (to.gate != Gate::limited) return Gcra::State{};
          const Successor<Gcra> after{to.bucket, begin_};
          if (before.gate != Gate::limited) return taken_up(before.gate, after, how);
          return inherit<Gcra>({before.bucket, state, now}, after, how);
        },
        translate, tell);
    // No word from here on is below that of begin_, which is above all before.
    offset_of_config_ =
        highest_ + 2 - 2 * static_cast<std::uint64_t>(begin_.time_since_epoch().count());
    publish_config();
  }

 private:
  static constexpr std::uint64_t aside = 1;

  /// What was left under the last numbers, while a gate is in force.
  struct Balance {
    std::optional<Gcra::Config> bucket;  ///< absent where none were ever in force
    Gcra::State state;
    Instant at;
  };

  Gcra::State taken_up(Gate gate, const Successor<Gcra>& after, Inherit how) const noexcept {
    if (kept_.bucket) {
      return inherit<Gcra>({*kept_.bucket, kept_.state, kept_.at}, after, how);
    }
    if (gate == Gate::unlimited || how == Inherit::reset) return {};
    return Gcra::holding(after.config, after.now, 0);
  }

  static constexpr Config gated(Gate gate) noexcept {
    constexpr TickScale scale = *TickScale::of({1, std::chrono::nanoseconds{1}});
    const Cost burst = gate == Gate::unlimited ? TickScale::longest.count() : 0;
    const Interval interval = scale.interval();
    return {{interval, burst, interval.times(burst), burst}, scale, gate};
  }

  static Outcome closed(SteadyInstant now, Cost cost) noexcept {
    if (cost == 0) return {Verdict::granted, Refusal::none, now};
    return {Verdict::impossible, Refusal::limit, SteadyInstant::max()};
  }

  static std::int64_t difference(std::uint64_t left, std::uint64_t right) noexcept {
    return static_cast<std::int64_t>(left - right);
  }

  bool above_burst(Cost cost, Cost keep) const noexcept {  // a negative cost is above all others
    const std::uint64_t burst = burst_.load(std::memory_order_acquire);
    return static_cast<std::uint64_t>(cost) > burst ||
           static_cast<std::uint64_t>(keep) > burst - static_cast<std::uint64_t>(cost);
  }

  Instant tick_of(std::uint64_t word) const noexcept {
    return Instant{Span{difference(word, offset_of_config_) / 2}};
  }
  std::uint64_t word_of(Instant tick) const noexcept {
    return offset_of_config_ + 2 * static_cast<std::uint64_t>(tick.time_since_epoch().count());
  }

  static SteadyInstant steady(const TickScale& scale, std::uint64_t offset,
                              std::uint64_t word) noexcept {
    return SteadyInstant{scale.nanoseconds(difference(word, offset) / 2)};
  }

  void publish_config() noexcept {
    ticks_in_ns_.store(config_.scale.ticks_in_ns, std::memory_order_release);
    ns_in_tick_.store(config_.scale.ns_in_tick, std::memory_order_release);
    offset_.store(offset_of_config_, std::memory_order_release);
    const bool closed = config_.gate == Gate::closed;
    const std::uint64_t unit = closed ? 0 : std::uint64_t{2} << config_.scale.shift;
    const auto capacity = static_cast<std::uint64_t>(config_.bucket.capacity.whole.count());
    unit_.store(unit, std::memory_order_release);
    slack_.store(closed ? std::uint64_t{1} << 63 : 2 * capacity - unit, std::memory_order_release);
    burst_.store(static_cast<std::uint64_t>(config_.bucket.burst), std::memory_order_release);
  }

  // What a decision reads: one cache line.
  alignas(64) std::atomic<std::uint64_t> word_{0};  ///< when all is repaid
  std::atomic<std::uint64_t> ticks_in_ns_{0};
  std::atomic<std::uint64_t> offset_{0};  ///< the word of tick 0
  std::atomic<std::uint64_t> unit_{0};    ///< in half ticks; 0 where nothing is granted
  std::atomic<std::uint64_t> slack_{0};  ///< the capacity less a unit: how far ahead one is granted
  std::atomic<std::uint64_t> ns_in_tick_{0};
  std::atomic<std::uint64_t> burst_{0};

  // The rest is under the lock.
  Config config_;
  std::uint64_t offset_of_config_ = 0;
  Instant begin_{};    ///< of this configuration
  bool held_ = false;  ///< the word stays set aside between two that hold the lock
  Balance kept_{};
  std::uint64_t published_ = 0;
  std::uint64_t highest_ = 0;  ///< of all words so far
};

/// What try_take() and the rest are asked of.
using AtomicBucket = Host<AtomicWord>;

}  // namespace weir
