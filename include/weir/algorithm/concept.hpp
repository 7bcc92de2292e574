// What an algorithm is, and the one step that all of them share.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <concepts>
#include <cstddef>

#include "weir/algorithm/interval.hpp"
#include "weir/vocabulary.hpp"

namespace weir {

/// How many limits one key may have to satisfy at once.
inline constexpr std::size_t most_terms = 8;

/// Why numbers do not make a limit. Every configure() gives one of these.
enum class ConfigError : std::uint8_t {
  not_positive,  ///< a count, period, burst or number of parts is zero or less, a queue negative
  too_fast,      ///< more than 10^9 units a second
  too_long,      ///< a period, or the time to refill, is above longest_span
  too_fine,      ///< count and period share too few factors to be kept exactly below 2^53
  too_many,      ///< a log longer, or a window of more parts, than a key may take memory for
  too_full,      ///< initial tokens above the burst
};

constexpr const char* describe(ConfigError error) noexcept {
  constexpr const char* texts[] = {
      "must be greater than zero",
      "is more than 1000000000 a second, the finest rate kept exactly",
      "takes longer than 2^50 microseconds (35 years) to refill",
      "needs finer fractions than 2^53; choose a count that shares factors with the period",
      "needs too much memory for each key",
      "is more than the burst",
  };
  return texts[static_cast<std::uint8_t>(error)];
}

/// The most one instant can be granted, and what is left of it.
struct Room {
  Cost limit;
  Cost remaining;
};

/// Whose instant a grant acts at.
enum class Turn : std::uint8_t {
  own,    ///< this state's: none that it would allow is earlier
  joint,  ///< one at which other states agree too, so maybe later than this state's own
};

/// A grant that its holder may still give back. Spent once: giving it back twice would undo a
/// stranger's equal grant, so hosts hand it out once or remember what was cancelled.
struct Grant {
  Cost cost = 0;
  Instant acts_at{};
  Turn turn = Turn::own;
  /// Where each term of the limit stood right after the grant.
  std::array<FineInstant, most_terms> marks{};
};

/// An algorithm is a pure machine: it knows no clock, lock, heap, socket or store. A host keeps its
/// State by value and tells it the time. Two questions decide every request: when could it act
/// (earliest), and what is remembered if it does (charge); step() below does the rest, for all.
///
///   capacity   the largest cost that can ever be granted
///   own_wait   how long a request of this cost waits where the caller did not say: nullopt where
///              the limit has no queue of its own
///   earliest   the first instant >= now at which the request may act, given all earlier grants.
///              Later instants are as good. Requires cost <= capacity. Never before the instant of
///              a deferred grant: first come, first served.
///   charge     remembers a grant that acts at the instant. On a state that more than one key
///              shares it may be called where earliest() is later; the state then saturates.
///   room       limit and remaining, for a request that waits no longer than own_wait
///   fresh_at   from then on the state behaves as one never seen, and may be dropped
///   cancel     until the grant's instant: gives back its cost less what was granted since
///   refund     gives back units already used, at most what is still owed; returns how many
///   bound      the promise: the largest sum of costs whose ready_at lies in any half-open (t,
///              t+length], when no single cost is above `largest`
template <typename M>
concept Algorithm = std::regular<typename M::State> && std::copyable<typename M::Config> &&
    requires(const typename M::Config& config, const typename M::State& state,
             typename M::State& changed, Instant now, Cost cost, Span length, const Grant& grant,
             FineInstant* mark) {
  { M::capacity(config) } -> std::same_as<Cost>;
  { M::own_wait(config, cost) } -> std::same_as<std::optional<Span>>;
  { M::earliest(config, state, now, cost) } -> std::same_as<Instant>;
  { M::charge(config, changed, now, cost) } -> std::same_as<void>;
  { M::room(config, state, now) } -> std::same_as<Room>;
  { M::fresh_at(config, state) } -> std::same_as<Instant>;
  { M::mark(config, state, mark) } -> std::same_as<FineInstant*>;
  { M::cancel(config, changed, now, grant, mark) } -> std::same_as<Cost>;
  { M::refund(config, changed, now, cost) } -> std::same_as<Cost>;
  { M::bound(config, length, cost) } -> std::same_as<Cost>;
};

/// An algorithm whose state a refusal changes: it also says what becomes of the earliest instant.
template <typename M>
concept Punishing = requires(const typename M::Config& config, typename M::State& state,
                             Instant now, Span patience, Cost cost) {
  { M::refuse(config, state, now, patience, cost) } -> std::same_as<void>;
};

/// An algorithm of which some costs always have to wait, however long nobody came: it also says how
/// long at least. With less patience such a request is impossible.
template <typename M>
concept Delaying = requires(const typename M::Config& config, Cost cost) {
  { M::least_wait(config, cost) } -> std::same_as<Span>;
};

/// An algorithm whose grants are permits, which count until their holders leave:
///
///   leave      gives the permit's units back; 0 where it has left or its lease has ended
///   renew      its lease begins anew, and what is left of it then; 0 as above
template <typename M>
concept Leasing = requires(const typename M::Config& config, typename M::State& state, Instant now,
                           PermitId permit) {
  { M::leave(config, state, now, permit) } -> std::same_as<Cost>;
  { M::renew(config, state, now, permit) } -> std::same_as<Span>;
};

template <Algorithm M>
constexpr Span least_wait(const typename M::Config& config, Cost cost) noexcept {
  if constexpr (Delaying<M>) {
    return M::least_wait(config, cost);
  } else {
    return Span{0};
  }
}

/// How long this request may wait: the caller's patience, and no longer than the limit's own.
constexpr Span patience_of(const Request& request, std::optional<Span> own) noexcept {
  if (!request.patience) return own.value_or(Span{0});
  return own ? std::min(*own, *request.patience) : *request.patience;
}

/// A verdict and its instant, before the rest of the answer is worked out.
struct Ruling {
  Verdict verdict;
  Instant ready_at;
};

template <Algorithm M>
constexpr Ruling judge(const typename M::Config& config, const typename M::State& state,
                       const Request& request) noexcept {
  assert(request.cost >= 0);
  if (request.cost > M::capacity(config)) return {Verdict::impossible, never};
  const Span patience = patience_of(request, M::own_wait(config, request.cost));
  if (patience < least_wait<M>(config, request.cost)) return {Verdict::impossible, never};
  const Instant ready_at = M::earliest(config, state, request.now, request.cost);
  if (ready_at - request.now > patience) return {Verdict::denied, ready_at - patience};
  return {ready_at == request.now ? Verdict::granted : Verdict::deferred, ready_at};
}

template <Algorithm M>
constexpr Decision answer(const typename M::Config& config, const typename M::State& state,
                          Instant now, Ruling ruling) noexcept {
  const Room room = M::room(config, state, now);
  return {ruling.verdict, ruling.ready_at, room.limit, room.remaining,
          std::max(now, M::fresh_at(config, state))};
}

/// What step() would rule, with the numbers as they stand: changes nothing.
template <Algorithm M>
constexpr Decision peek(const typename M::Config& config, const typename M::State& state,
                        const Request& request) noexcept {
  if constexpr (requires { M::peek(config, state, request); }) {
    return M::peek(config, state, request);
  } else {
    return answer<M>(config, state, request.now, judge<M>(config, state, request));
  }
}

/// One request against one key: decides, and changes the state exactly when the request is taken (a
/// Punishing algorithm also when it is denied). Cost 0 asks without taking.
/// Requires cost >= 0 and 0 <= patience <= longest_span. Allocates only where the state must grow.
template <Algorithm M>
constexpr Decision step(const typename M::Config& config, typename M::State& state,
                        const Request& request) {
  if constexpr (requires { M::step(config, state, request); }) {
    return M::step(config, state, request);
  } else {
    Ruling ruling = judge<M>(config, state, request);
    if (taken(ruling.verdict)) {
      if (request.cost > 0) M::charge(config, state, ruling.ready_at, request.cost);
    } else if constexpr (Punishing<M>) {
      if (ruling.verdict == Verdict::denied) {
        const Span patience = patience_of(request, M::own_wait(config, request.cost));
        M::refuse(config, state, request.now, patience, request.cost);
        ruling = judge<M>(config, state, request);
      }
    }
    return answer<M>(config, state, request.now, ruling);
  }
}

/// Writes the grant that a taken request got. Requires that `state` is as step() left it. Marks
/// that the limit has no term for stay as they are.
template <Algorithm M>
void note_grant(const typename M::Config& config, const typename M::State& state, Cost cost,
                const Decision& decision, Grant& grant) noexcept {
  grant.cost = cost;
  grant.acts_at = decision.ready_at;
  grant.turn = Turn::own;
  M::mark(config, state, grant.marks.data());
}

template <Algorithm M>
Grant grant_of(const typename M::Config& config, const typename M::State& state,
               const Request& request, const Decision& decision) noexcept {
  Grant grant;
  note_grant<M>(config, state, request.cost, decision, grant);
  return grant;
}

/// Whether a state's buckets stand where the grant left them: nothing was granted since. Who puts
/// grants off beyond a bucket's own instant cancels only then, or newcomers would act beside them.
template <Algorithm M>
bool stands_at(const typename M::Config& config, const typename M::State& state,
               const FineInstant* mark) noexcept {
  std::array<FineInstant, most_terms> marks{};
  const FineInstant* end = M::mark(config, state, marks.data());
  return std::equal(static_cast<const FineInstant*>(marks.data()), end, mark);
}

/// Gives a grant back while its instant has not passed; returns the units that were given back.
template <Algorithm M>
Cost cancel(const typename M::Config& config, typename M::State& state, Instant now,
            const Grant& grant) noexcept {
  if (now > grant.acts_at || grant.cost <= 0) return 0;
  if (grant.turn == Turn::joint && !stands_at<M>(config, state, grant.marks.data())) return 0;
  return M::cancel(config, state, now, grant, grant.marks.data());
}

/// Units that were granted at an instant, to who did not act after all: something else refused it.
struct Withdrawal {
  Cost units;
  Instant taken_at;
};

/// An algorithm that can take such units back at any later time, whoever was granted since:
///
///   withdraw   leaves no less charged than had they never been taken, and just that where it is
///              asked at the instant of the grant; what flows between the two may stay charged.
///              Requires that nobody was granted at a later instant than `now`.
template <typename M>
concept Withdrawable = requires(const typename M::Config& config, typename M::State& state,
                                Instant now, const Withdrawal& withdrawal) {
  { M::withdraw(config, state, now, withdrawal) } -> std::same_as<void>;
};

/// An algorithm whose state may be kept under a clock that can be set back, as a store's can:
///
///   settle     asked before all else: brings a state that is further ahead than any grant since
///              `now`, with a patience of `slack` at the most, can have left it to just that. It
///              leaves every other as it is. Requires slack >= 0 and <= longest_span.
template <typename M>
concept Settling = requires(const typename M::Config& config, typename M::State& state, Instant now,
                            Span slack) {
  { M::settle(config, state, now, slack) } -> std::same_as<void>;
};

/// Units of an earlier grant that were never used, and what was charged since.
struct Unused {
  Cost units;
  Cost since;
};

/// Gives such units back, though the grant's instant has passed; returns how many. All of them only
/// where nothing was charged since, or the algorithm knows how many do no harm.
template <Algorithm M>
constexpr Cost give_back_unused(const typename M::Config& config, typename M::State& state,
                                Instant now, Unused unused) noexcept {
  if constexpr (requires { M::give_back_unused(config, state, now, unused); }) {
    return M::give_back_unused(config, state, now, unused);
  } else {
    return unused.since == 0 ? M::refund(config, state, now, unused.units) : 0;
  }
}

}  // namespace weir
