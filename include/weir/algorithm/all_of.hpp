// Several limits on one key: all of them must agree.
#pragma once

#include <algorithm>
#include <vector>

#include "weir/algorithm/inherit.hpp"

namespace weir {

/// Several limits on one key, all or none: a request acts at the first instant at which every limit
/// would let it act, and each remembers it as if it had been asked at that instant.
///
/// Bound    the least of the bounds inside
/// Memory   the sum of the states inside, and 24 bytes
/// Refusal  charges none of them
/// Source   every API with a limit a second and a limit a day
template <Algorithm Term>
struct AllOf {
  struct Config {
    std::vector<typename Term::Config> terms;  ///< 1 to most_terms
    bool operator==(const Config&) const = default;
  };

  struct State {
    std::vector<typename Term::State> terms;  ///< empty: never seen
    bool operator==(const State&) const = default;
  };

  static Cost capacity(const Config& config) noexcept {
    Cost least = Term::capacity(config.terms.front());
    for (const auto& term : config.terms) least = std::min(least, Term::capacity(term));
    return least;
  }

  /// Those that have a queue agree on the shortest; the others have no say in waiting.
  static std::optional<Span> own_wait(const Config& config, Cost cost) noexcept {
    std::optional<Span> shortest;
    for (const auto& term : config.terms) {
      const auto own = Term::own_wait(term, cost);
      if (own) shortest = shortest ? std::min(*shortest, *own) : own;
    }
    return shortest;
  }

  static Span least_wait(const Config& config, Cost cost) noexcept requires Delaying<Term> {
    Span longest{0};
    for (const auto& term : config.terms) {
      longest = std::max(longest, Term::least_wait(term, cost));
    }
    return longest;
  }

  /// The latest of the terms' instants. An instant that one term allows it allows later too, so
  /// that single pass settles it.
  static Instant earliest(const Config& config, const State& state, Instant now,
                          Cost cost) noexcept {
    Instant latest = now;
    each(config, state, [&](const auto& term, const auto& kept) {
      latest = std::max(latest, Term::earliest(term, kept, now, cost));
    });
    return latest;
  }

  /// Only the terms that refuse by themselves punish.
  static void refuse(const Config& config, State& state, Instant now, Span patience,
                     Cost cost) requires Punishing<Term> {
    open(config, state);
    for (std::size_t at = 0; at < config.terms.size(); ++at) {
      const auto& term = config.terms[at];
      if (Term::earliest(term, state.terms[at], now, cost) - now > patience) {
        Term::refuse(term, state.terms[at], now, patience, cost);
      }
    }
  }

  static void charge(const Config& config, State& state, Instant at, Cost cost) {
    open(config, state);
    for (std::size_t index = 0; index < config.terms.size(); ++index) {
      Term::charge(config.terms[index], state.terms[index], at, cost);
    }
  }

  /// Of the term that has least left. Where two have a say in waiting, the shorter wait leaves room
  /// for fewer in the longer queue than that one tells.
  static Room room(const Config& config, const State& state, Instant now) noexcept {
    Room least{0, std::numeric_limits<Cost>::max()};
    int queues = 0;
    each(config, state, [&](const auto& term, const auto& kept) {
      const Room room = Term::room(term, kept, now);
      if (room.remaining < least.remaining) least = room;
      if (Term::own_wait(term, 1)) ++queues;
    });
    if (queues > 1) least.remaining = most_in_time(config, state, now, least.remaining);
    return least;
  }

  static Instant fresh_at(const Config& config, const State& state) noexcept {
    Instant latest = Instant::min();
    each(config, state, [&](const auto& term, const auto& kept) {
      latest = std::max(latest, Term::fresh_at(term, kept));
    });
    return latest;
  }

  static FineInstant* mark(const Config& config, const State& state, FineInstant* to) noexcept {
    each(config, state,
         [&](const auto& term, const auto& kept) { to = Term::mark(term, kept, to); });
    return to;
  }

  /// Each term gives back what it can; the caller hears the least.
  static Cost cancel(const Config& config, State& state, Instant now, const Grant& grant,
                     const FineInstant* mark) noexcept {
    return least_back(config, state, [&](const auto& term, auto& kept) {
      const FineInstant* own = mark++;
      return stands_at<Term>(term, kept, own) ? Term::cancel(term, kept, now, grant, own) : Cost{0};
    });
  }

  static Cost refund(const Config& config, State& state, Instant now, Cost units) noexcept {
    return least_back(config, state, [&](const auto& term, auto& kept) {
      return Term::refund(term, kept, now, units);
    });
  }

  static void withdraw(const Config& config, State& state, Instant now,
                       const Withdrawal& withdrawal) noexcept requires Withdrawable<Term> {
    if (state.terms.size() != config.terms.size()) return;
    for (std::size_t at = 0; at < config.terms.size(); ++at) {
      Term::withdraw(config.terms[at], state.terms[at], now, withdrawal);
    }
  }

  /// Of the terms that hand out permits; what the others were charged stays.
  static Cost leave(const Config& config, State& state, Instant now,
                    PermitId permit) noexcept requires Leasing<Term> {
    Cost back = 0;
    for (std::size_t at = 0; at < state.terms.size() && at < config.terms.size(); ++at) {
      back += Term::leave(config.terms[at], state.terms[at], now, permit);
    }
    return back;
  }
  static Span renew(const Config& config, State& state, Instant now,
                    PermitId permit) noexcept requires Leasing<Term> {
    Span longest{0};
    for (std::size_t at = 0; at < state.terms.size() && at < config.terms.size(); ++at) {
      longest = std::max(longest, Term::renew(config.terms[at], state.terms[at], now, permit));
    }
    return longest;
  }

  /// Limit for limit, in the order they are written; where there are more or fewer than before,
  /// what is left of the scarcest is left of each.
  static State inherit(const Kept<AllOf>& before, const Successor<AllOf>& after, Inherit how) {
    if (before.config.terms.size() != after.config.terms.size()) {
      return inherit_units(before, after, how);
    }
    State state;
    each(before.config, before.state, [&](const auto& term, const auto& kept) {
      const auto& next = after.config.terms[state.terms.size()];
      state.terms.push_back(weir::inherit<Term>({term, kept, before.now}, {next, after.now}, how));
    });
    return state;
  }
  static void inherit_room(const Config& config, State& state, Instant now, Room had, Inherit how) {
    open(config, state);
    for (std::size_t at = 0; at < config.terms.size(); ++at) {
      weir::inherit_room<Term>(config.terms[at], state.terms[at], now, had, how);
    }
  }

  static void settle(const Config& config, State& state, Instant now,
                     Span slack) noexcept requires Settling<Term> {
    for (std::size_t at = 0; at < std::min(config.terms.size(), state.terms.size()); ++at) {
      Term::settle(config.terms[at], state.terms[at], now, slack);
    }
  }

  static Cost bound(const Config& config, Span length, Cost largest) noexcept {
    Cost least = std::numeric_limits<Cost>::max();
    for (const auto& term : config.terms) {
      least = std::min(least, Term::bound(term, length, largest));
    }
    return least;
  }

 private:
  static void open(const Config& config, State& state) { state.terms.resize(config.terms.size()); }

  template <typename Do>
  static void each(const Config& config, const State& state, Do&& action) noexcept {
    const typename Term::State never_seen;
    for (std::size_t at = 0; at < config.terms.size(); ++at) {
      action(config.terms[at], at < state.terms.size() ? state.terms[at] : never_seen);
    }
  }

  /// The largest cost up to `most` that waits no longer than own_wait.
  static Cost most_in_time(const Config& config, const State& state, Instant now,
                           Cost most) noexcept {
    Cost low = 0;
    while (low < most) {
      const Cost cost = most - (most - low) / 2;
      const Span wait = earliest(config, state, now, cost) - now;
      if (wait <= own_wait(config, cost).value_or(Span{0})) {
        low = cost;
      } else {
        most = cost - 1;
      }
    }
    return low;
  }

  template <typename Do>
  static Cost least_back(const Config& config, State& state, Do&& action) noexcept {
    if (state.terms.size() != config.terms.size()) return 0;
    Cost least = std::numeric_limits<Cost>::max();
    for (std::size_t at = 0; at < config.terms.size(); ++at) {
      least = std::min(least, action(config.terms[at], state.terms[at]));
    }
    return least;
  }
};

}  // namespace weir
