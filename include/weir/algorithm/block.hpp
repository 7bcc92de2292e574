// The penalty wrapper: a refusal shuts the key out for a while.
#pragma once

#include <algorithm>

#include "weir/algorithm/inherit.hpp"

namespace weir {

/// Another algorithm with a penalty: once it refuses a key, that key is refused for `penalty`.
/// Knocking during the penalty does not prolong it; probes (cost 0) and costs above the capacity
/// do not start it.
///
/// Bound    that of the algorithm inside
/// Memory   8 bytes more
/// Refusal  starts the penalty: the one algorithm whose refusals write
/// Source   the "over the limit, then out for a minute" rule of public APIs
template <Algorithm Inner>
struct Block {
  struct Config {
    typename Inner::Config inner;
    Span penalty{0};  ///< 0: none
    bool operator==(const Config&) const = default;
  };

  struct State {
    Instant blocked_until = Instant::min();
    typename Inner::State inner;
    bool operator==(const State&) const = default;
  };

  static Cost capacity(const Config& config) noexcept { return Inner::capacity(config.inner); }

  static std::optional<Span> own_wait(const Config& config, Cost cost) noexcept {
    return Inner::own_wait(config.inner, cost);
  }

  static Span least_wait(const Config& config, Cost cost) noexcept requires Delaying<Inner> {
    return Inner::least_wait(config.inner, cost);
  }

  static Instant earliest(const Config& config, const State& state, Instant now,
                          Cost cost) noexcept {
    // A key that is shut out acts, at the earliest, when the penalty ends.
    const Instant from = std::max(now, state.blocked_until);
    return std::max(from, Inner::earliest(config.inner, state.inner, from, cost));
  }

  static void refuse(const Config& config, State& state, Instant now, Span, Cost cost) noexcept {
    if (cost == 0 || config.penalty <= Span{0} || now < state.blocked_until) return;
    state.blocked_until = now + config.penalty;
  }

  static void charge(const Config& config, State& state, Instant at, Cost cost) {
    Inner::charge(config.inner, state.inner, at, cost);
  }

  static Room room(const Config& config, const State& state, Instant now) noexcept {
    const Room inner = Inner::room(config.inner, state.inner, now);
    return now < state.blocked_until ? Room{inner.limit, 0} : inner;
  }

  static Instant fresh_at(const Config& config, const State& state) noexcept {
    return std::max(state.blocked_until, Inner::fresh_at(config.inner, state.inner));
  }

  static FineInstant* mark(const Config& config, const State& state, FineInstant* to) noexcept {
    return Inner::mark(config.inner, state.inner, to);
  }

  static Cost cancel(const Config& config, State& state, Instant now, const Grant& grant,
                     const FineInstant* mark) noexcept {
    if (!stands_at<Inner>(config.inner, state.inner, mark)) return 0;
    return Inner::cancel(config.inner, state.inner, now, grant, mark);
  }

  static Cost refund(const Config& config, State& state, Instant now, Cost units) noexcept {
    return Inner::refund(config.inner, state.inner, now, units);
  }

  /// Who was shut out meanwhile stays so.
  static void withdraw(const Config& config, State& state, Instant now,
                       const Withdrawal& withdrawal) noexcept requires Withdrawable<Inner> {
    Inner::withdraw(config.inner, state.inner, now, withdrawal);
  }

  static Cost leave(const Config& config, State& state, Instant now,
                    PermitId permit) noexcept requires Leasing<Inner> {
    return Inner::leave(config.inner, state.inner, now, permit);
  }
  static Span renew(const Config& config, State& state, Instant now,
                    PermitId permit) noexcept requires Leasing<Inner> {
    return Inner::renew(config.inner, state.inner, now, permit);
  }

  /// Who is shut out stays so, unless nothing counts.
  static State inherit(const Kept<Block>& before, const Successor<Block>& after, Inherit how) {
    State state;
    if (how != Inherit::reset && before.state.blocked_until > before.now) {
      state.blocked_until = after.now + (before.state.blocked_until - before.now);
    }
    state.inner = weir::inherit<Inner>({before.config.inner, before.state.inner, before.now},
                                       {after.config.inner, after.now}, how);
    return state;
  }
  static void inherit_room(const Config& config, State& state, Instant now, Room had, Inherit how) {
    weir::inherit_room<Inner>(config.inner, state.inner, now, had, how);
  }

  /// A penalty can only have begun by now.
  static void settle(const Config& config, State& state, Instant now,
                     Span slack) noexcept requires Settling<Inner> {
    state.blocked_until = std::min(state.blocked_until, now + config.penalty);
    Inner::settle(config.inner, state.inner, now, slack);
  }

  static Cost bound(const Config& config, Span length, Cost largest) noexcept {
    return Inner::bound(config.inner, length, largest);
  }
};

}  // namespace weir
