// A limiter in this process: one state, its lock, and those who wait for it.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "weir/algorithm/inherit.hpp"
#include "weir/local/line.hpp"
#include "weir/local/outcome.hpp"

namespace weir {

/// Anything that a keeper remembers, asked in steady time. A keeper holds the configuration and the
/// state, and says how its ticks lie on the steady time line:
///
///   Machine, Config            the algorithm, and what configures the keeper
///   config()                   the algorithm's numbers in force; read under the lock
///   ticks(now), steady(tick)   the last tick not after `now`; the first instant of a tick
///   open(line), close(line, now)
///                              around everything that is done under the lock
///   reconfigure(...)           changes the numbers
///   try_take(now, cost, out), is_aside()
///                              where it can decide without the lock: false where another was
///                              faster, or holds the lock
///
/// Time never goes back: a reading older than the newest seen is taken for that one, and mints
/// nothing.
///
/// Threads  safe from any thread
/// Errors   bad_alloc where a state must grow (logs, several limits), with nothing changed
template <typename Keeper>
class Host {
 public:
  using Machine = typename Keeper::Machine;
  using Config = typename Keeper::Config;

  /// As many may stand in line.
  static constexpr std::size_t most_in_line = 65'536;
  /// Whether the keeper decides without the lock, where it can.
  static constexpr bool decides_unlocked = requires(Keeper keeper, Outcome& outcome) {
    keeper.try_take(SteadyInstant{}, Cost{}, outcome);
  };

  explicit Host(const Config& config, typename Machine::State first = {}) : keeper_(config) {
    keeper_.open(line_);
    line_.set_state(std::move(first));
    keeper_.close(line_, seen_);
  }

  /// Takes at once, or not at all.
  [[gnu::always_inline]] Outcome try_take(SteadyInstant now, Cost cost) {
    if constexpr (decides_unlocked) {
      Outcome outcome;
      if (keeper_.try_take(now, cost, outcome)) [[likely]]
        return outcome;
    }
    return try_take_slowly(now, cost);
  }

  struct Share {
    Cost cost;
    Cost keep;  ///< units that must be left, >= 0
  };
  /// Takes at once, if so much is left after it, or not at all: in one step with the decision, so
  /// that callers who come together do not eat into it either.
  Outcome try_take_keeping(SteadyInstant now, const Share& share) {
    if constexpr (decides_unlocked) {
      Outcome outcome;
      while (!keeper_.is_aside()) {
        if (keeper_.try_take(now, share.cost, outcome, share.keep)) return outcome;
      }
    }
    Open open(*this, now);
    return outcome_of(
        line_.take_keeping(open.config(), {open.now, share.cost, Span{0}}, share.keep));
  }

  /// Takes back what was granted at once, as `granted` says, to who did not act after all; see
  /// Withdrawable. Nothing where the numbers are others since, or no memory is to be had.
  void withdraw(SteadyInstant now, Cost units, const Outcome& granted) noexcept {
    if (units <= 0) return;
    try {
      Open open(*this, now);
      if (granted.ready_at <= changed_at_) return;
      line_.withdraw(open.config(), open.now, {units, keeper_.ticks(granted.ready_at)}, teller());
    } catch (const std::bad_alloc&) {
      return;
    }
  }

  struct Wanted {
    Cost cost;
    std::chrono::nanoseconds within;
  };
  /// For who would wait: takes at once, or else a place, which must be apart. Not try_take() and
  /// then join(): under a penalty the refusal alone would shut the caller out.
  Outcome take_or_join(Place& place, SteadyInstant now, const Wanted& wanted) {
    Outcome outcome;
    if (take_without_lock(now, wanted.cost, outcome)) return outcome;
    outcome = join(place, now, wanted.cost, wanted.within);
    if (outcome.verdict == Verdict::granted) static_cast<void>(look(place, now));
    return outcome;
  }

  /// True where one who would wait was granted without the lock.
  bool take_without_lock(SteadyInstant now, Cost cost, Outcome& outcome) {
    if constexpr (decides_unlocked) {
      return keeper_.try_take(now, cost, outcome) && outcome.verdict == Verdict::granted;
    } else {
      return false;
    }
  }

  /// Takes a place for as long a wait as `within`; requires one that is apart.
  Outcome join(Place& place, SteadyInstant now, Cost cost, std::chrono::nanoseconds within) {
    Open open(*this, now);
    if (cost == 0) return outcome_of(line_.take(open.config(), {open.now, 0, Span{0}}));
    if (line_.size() >= most_in_line) {
      const Ruling ruling = line_.judge(open.config(), {open.now, cost, Span{0}});
      if (ruling.verdict != Verdict::granted) {
        Outcome full = outcome_of(ruling);
        if (full.verdict == Verdict::denied) full.refusal = Refusal::line_full;
        return full;
      }
    }
    const Request request{open.now, cost, keeper_.span(within)};
    const Outcome outcome = outcome_of(line_.join(open.config(), request, place));
    place.ready_at = outcome.ready_at;
    return outcome;
  }

  /// Gives a place back and returns the units that newcomers get; nothing where it is not in line
  /// any more, for its instant has passed. Without memory (logs, several limits) none are given
  /// back, and the place is gone all the same: its owner may be ending.
  std::optional<Cost> leave(Place& place, SteadyInstant now) noexcept {
    try {
      Open open(*this, now);
      if (place.state != Place::State::in_line) return {};
      return line_.leave(open.config(), place, open.now, teller());
    } catch (const std::bad_alloc&) {
      const std::lock_guard lock(mutex_);
      line_.drop(place);
      return 0;
    }
  }

  /// How a place that was deferred stands: granted, and out of line, once its instant has come.
  Outcome look(Place& place, SteadyInstant now) {
    Open open(*this, now);
    if (place.state == Place::State::impossible) {
      return {Verdict::impossible, Refusal::limit, SteadyInstant::max()};
    }
    if (place.state == Place::State::in_line && place.acts_at > open.now) {
      return {Verdict::deferred, Refusal::none, place.ready_at};
    }
    line_.settle(open.config(), place);
    return {Verdict::granted, Refusal::none, place.ready_at};
  }

  void replace(Place& place, Place& with) {
    const std::lock_guard lock(mutex_);
    line_.replace(place, with);
  }

  /// What try_take() would answer, and the numbers as they stand.
  Standing peek(SteadyInstant now, Cost cost) {
    Open open(*this, now);
    const auto& config = open.config();
    const Outcome outcome = outcome_of(line_.judge(config, {open.now, cost, Span{0}}));
    Room room = Machine::room(config, line_.state(), open.now);
    if (line_.last_at() > open.now) room.remaining = 0;
    const Instant reset_at = std::max(open.now, Machine::fresh_at(config, line_.state()));
    return {outcome, room.limit, room.remaining, std::max(seen_, keeper_.steady(reset_at))};
  }

  Cost refund(SteadyInstant now, Cost units) {
    Open open(*this, now);
    return units > 0 ? line_.refund(open.config(), open.now, units, teller()) : 0;
  }

  /// Takes what is left, at most `most`; returns how much.
  Cost drain(SteadyInstant now, Cost most) {
    Open open(*this, now);
    const auto& config = open.config();
    Cost left = Machine::room(config, line_.state(), open.now).remaining;
    left = std::min(left, most);
    if (left <= 0 || line_.last_at() > open.now) return 0;
    const Request request{open.now, left, Span{0}};
    if (!taken(line_.judge(config, request).verdict)) return 0;  // no refusal: no penalty
    return taken(line_.take(config, request).verdict) ? left : 0;
  }

  struct Bill {
    Cost taken;
    Cost actual;  ///< >= 0
  };
  /// A place was used and cannot be given back any more. What it cost less is given back, as far as
  /// the bound lets it beside what was granted since; for what it cost more, those wait who come
  /// later.
  void commit(Place& place, SteadyInstant now, Bill bill) {
    auto kept = std::make_unique<KeptPlace>();
    Open open(*this, now);
    const auto& config = open.config();
    if (place.state == Place::State::in_line && place.acts_at <= open.now) {
      line_.settle(config, place);
    }
    if (place.state != Place::State::in_line) {
      if (bill.actual < bill.taken) {
        line_.unused(config, place, open.now, bill.taken - bill.actual, teller());
      }
    } else if (bill.actual == 0) {
      line_.leave(config, place, open.now, teller());
    } else {
      line_.replace(place, *kept);
      KeptPlace& own = *kept.release();  // until it has passed
      if (bill.actual < bill.taken) line_.lower(config, own, open.now, bill.actual, teller());
    }
    if (bill.actual > bill.taken) line_.owe(config, open.now, bill.actual - bill.taken);
  }

  /// Goes on under other numbers; what was used before counts as `how` says.
  void reconfigure(SteadyInstant now, const Config& to, Inherit how) {
    Open open(*this, now);
    keeper_.reconfigure(line_, open.now, to, how, teller());
    changed_at_ = seen_;
  }

  std::size_t waiting() const {
    const std::lock_guard lock(mutex_);
    return line_.size();
  }

 private:
  /// A reservation whose owner has gone.
  struct KeptPlace final : Place {
    KeptPlace() : Place(Kind::reservation) {}
    void passed() noexcept override { delete this; }
  };

  /// The lock, the state in the line, and the time in ticks.
  struct Open {
    Open(Host& opened, SteadyInstant reading) : host(opened), lock(opened.mutex_) {
      host.keeper_.open(host.line_);
      host.seen_ = std::max(host.seen_, reading);
      now = host.keeper_.ticks(host.seen_);
      host.line_.pass(config(), now);
    }
    Open(const Open&) = delete;
    ~Open() { host.keeper_.close(host.line_, host.seen_); }
    const auto& config() const noexcept { return host.keeper_.config(); }

    Host& host;
    std::lock_guard<std::mutex> lock;
    Instant now;
  };

  [[gnu::noinline]] Outcome try_take_slowly(SteadyInstant now, Cost cost) {
    if constexpr (decides_unlocked) {
      Outcome outcome;
      while (!keeper_.is_aside()) {
        if (keeper_.try_take(now, cost, outcome)) return outcome;
      }
    }
    Open open(*this, now);
    return outcome_of(line_.take(open.config(), {open.now, cost, Span{0}}));
  }

  Outcome outcome_of(Ruling ruling) const noexcept {
    switch (ruling.verdict) {
      // Not the caller's own reading, which may be older: others were granted there.
      case Verdict::granted: return {ruling.verdict, Refusal::none, seen_};
      case Verdict::deferred:
        return {ruling.verdict, Refusal::none, keeper_.steady(ruling.ready_at)};
      case Verdict::denied:
        return {ruling.verdict, Refusal::limit, keeper_.steady(ruling.ready_at)};
      case Verdict::impossible: break;
    }
    return {Verdict::impossible, Refusal::limit, SteadyInstant::max()};
  }

  auto teller() noexcept {
    return [this](Place& place) {
      place.ready_at = keeper_.steady(place.acts_at);
      place.moved();
    };
  }

  Keeper keeper_;
  mutable std::mutex mutex_;
  Line<Machine> line_;
  SteadyInstant seen_{};  ///< the newest reading
  SteadyInstant changed_at_ = SteadyInstant::min();
};

}  // namespace weir
