// A limit for each value of an argument, so that one hot value does not take all there is.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "weir/local/clocks.hpp"
#include "weir/local/gate_pass.hpp"
#include "weir/local/key_name.hpp"
#include "weir/local/keyed_words.hpp"
#include "weir/local/overrides.hpp"
#include "weir/local/values_in_flight.hpp"
#include "weir/overload/call.hpp"

namespace weir {

/// Lets calls in by the value they are about: each value may have so many calls in flight, or take
/// so many in a time, or both:
///
///   weir::HotValueGate<std::string> gate({.in_flight = 10, .rate = {100, 1s, 200}});
///   weir::HotValueGate<std::string>::Pass pass = gate.try_enter(item);
///   if (!pass) return reply_429();
///
/// Nothing is forgotten that still counts, so a value is never granted more for want of memory:
/// what happens beyond max_values is that values share (KeyedWords, ValuesInFlight), and may be
/// refused sooner. Priorities make no difference.
///
/// Bound    of each value, no more in flight than its limit, and over any window no more than a
///          token bucket of its own would grant
/// Memory   for each of max_values, 32 bytes for a limit in flight and 27 to 31 for a rate; 50 KB
///          at least
/// Threads  safe from any thread
/// Cost     in flight: a lock of 16, twice; a rate: KeyedTokenBucket's
/// Errors   the constructor throws std::invalid_argument for settings that are no good, bad_alloc
template <KeyType Value, typename Clock = DefaultClock>
class HotValueGate {
 public:
  using Argument = KeyArgument<Value>;

  struct Settings {
    std::int64_t in_flight = 0;  ///< of each value, weights: 1 to 2^31; 0: as many as come
    Quota rate{0, std::chrono::nanoseconds{0}, 0};  ///< of each value; a count of 0: as often
    std::size_t max_values = 100'000;               ///< 1 to 2^28
    HashKey hash_key = HashKey::random();
  };

  enum class Reason : std::uint8_t { in_flight, rate };
  /// Why a call was refused.
  struct Refused {
    Reason reason{};
    std::int64_t in_flight{};  ///< of the value, at most, where that is the reason
    /// When the rate would grant it, max where it never will; now where too many are in flight.
    SteadyInstant ready_at{};
  };
  /// What the gate knows of a call in flight.
  struct Ticket {
    std::uint64_t name = 0;
    std::int64_t weight = 1;
    Outcome granted{};  ///< by the rate
    ValuesInFlight::Place place = ValuesInFlight::Place::none;
  };
  using Pass = GatePass<HotValueGate>;

  explicit HotValueGate(const Settings& settings, Clock clock = {})
      : names_(settings.hash_key), limit_(settings.in_flight), clock_(std::move(clock)) {
    const auto expect = [](bool good, const char* what) {
      if (!good) throw std::invalid_argument(what);
    };
    expect(settings.in_flight > 0 || settings.rate.count != 0,
           "in_flight, rate: expected one of them at least");
    expect(good_limit(settings.in_flight) || settings.in_flight == 0,
           "in_flight: expected 1 to 2^31, or 0 for no limit");
    expect(settings.max_values >= 1 && settings.max_values <= ValuesInFlight::most_room,
           "max_values: expected 1 to 2^28 values");
    if (settings.in_flight > 0) in_flight_.emplace(settings.max_values);
    if (settings.rate.count != 0) rate_.emplace(configured(settings.rate), settings.max_values);
  }

  HotValueGate(const HotValueGate&) = delete;
  HotValueGate& operator=(const HotValueGate&) = delete;

  Pass try_enter(Argument value, const Entry& entry = {}) {
    return try_enter(value, entry, clock_.now());
  }
  Pass try_enter(Argument value, const Entry& entry, SteadyInstant now) {
    return enter(name_of<Value>(names_, value), entry, now);
  }

  /// The gate for one value, to stand in a chain: `weir::chain(breaker, gate.on(item))`.
  class OfValue {
   public:
    Pass try_enter(const Entry& entry = {}) { return try_enter(entry, clock().now()); }
    Pass try_enter(const Entry& entry, SteadyInstant now) {
      return gate_->enter(name_, entry, now);
    }
    const Clock& clock() const noexcept { return gate_->clock(); }

   private:
    friend HotValueGate;
    OfValue(HotValueGate& gate, std::uint64_t name) noexcept : gate_(&gate), name_(name) {}

    HotValueGate* gate_;
    std::uint64_t name_;
  };
  OfValue on(Argument value) noexcept { return {*this, name_of<Value>(names_, value)}; }

  /// Gives a value a limit of its own, for good; calling it again changes it. False where `most`
  /// values of Overrides have one. Throws std::invalid_argument where the gate has no limit of that
  /// kind, or this is none.
  [[nodiscard]] bool override_in_flight(Argument value, std::int64_t limit) {
    if (!in_flight_ || !good_limit(limit)) {
      throw std::invalid_argument("in_flight: expected 1 to 2^31, of a gate that limits it");
    }
    const std::uint64_t name = name_of<Value>(names_, value);
    const std::lock_guard lock(mutex_);
    if (LimitOfValue* const found = limits_.find(name)) {
      found->limit.store(limit, std::memory_order_relaxed);
      return true;
    }
    if (limits_.size() == Overrides<LimitOfValue>::most) return false;
    limits_.add(std::make_unique<LimitOfValue>(name, limit));
    return true;
  }
  /// The same for its rate; what the value used before stays used.
  [[nodiscard]] bool override_rate(Argument value, const Quota& rate) {
    if (!rate_) throw std::invalid_argument("rate: expected a gate that limits it");
    return rate_->override_for(name_of<Value>(names_, value), configured(rate), Inherit::additive,
                               clock_.now());
  }

  const Clock& clock() const noexcept { return clock_; }

 private:
  friend Pass;

  struct LimitOfValue {
    LimitOfValue(std::uint64_t of, std::int64_t wanted) noexcept : name(of), limit(wanted) {}
    std::uint64_t name;
    std::atomic<std::int64_t> limit;
  };

  Pass enter(std::uint64_t name, const Entry& entry, SteadyInstant now) {
    Ticket ticket{.name = name, .weight = entry.weight < 1 ? 1 : entry.weight};
    // In flight first: that can always be taken back without a trace.
    if (in_flight_) {
      const auto entered = in_flight_->try_enter(name, {ticket.weight, limit_of(name)});
      if (entered.place == ValuesInFlight::Place::none) {
        const bool too_heavy = ticket.weight > limit_of(name);
        return Pass(
            Refused{Reason::in_flight, entered.in_flight, too_heavy ? SteadyInstant::max() : now});
      }
      ticket.place = entered.place;
    }
    if (rate_) {
      ticket.granted = rate_->take(name, now, ticket.weight);
      if (!ticket.granted) {
        leave(ticket);
        return Pass(Refused{Reason::rate, 0, ticket.granted.ready_at});
      }
    }
    return Pass(*this, ticket);
  }

  static constexpr bool good_limit(std::int64_t limit) noexcept {
    return limit >= 1 && limit <= std::int64_t{1} << 31;
  }
  static KeyedWords::Config configured(const Quota& rate) {
    const auto config = KeyedWords::configure(rate);
    if (!config) throw std::invalid_argument(std::string("rate: ") + describe(config.error()));
    return *config;
  }

  std::int64_t limit_of(std::uint64_t name) const noexcept {
    const LimitOfValue* const own = limits_.find(name);
    return own ? own->limit.load(std::memory_order_relaxed) : limit_;
  }

  void leave(const Ticket& ticket) noexcept {
    if (in_flight_) in_flight_->leave(ticket.name, ticket.place, ticket.weight);
  }
  void end(const Ticket& ticket, CallEnd, SteadyInstant) noexcept { leave(ticket); }
  void withdraw(const Ticket& ticket, SteadyInstant now) noexcept {
    leave(ticket);
    if (rate_) rate_->withdraw(ticket.name, now, ticket.weight, ticket.granted);
  }

  KeyNames names_;
  std::int64_t limit_;
  [[no_unique_address]] Clock clock_;
  std::optional<ValuesInFlight> in_flight_;
  std::optional<KeyedWords> rate_;
  std::mutex mutex_;  ///< of those who add to limits_
  Overrides<LimitOfValue> limits_;
};

}  // namespace weir
