// The laws that every algorithm keeps, checked after each event of a schedule.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "weir/algorithm/concept.hpp"

namespace weir::law {

/// What the laws have to know of an algorithm beyond its functions.
template <typename M>
struct Traits {
  /// `remaining` is the very largest cost; otherwise only some cost that is taken for certain.
  static constexpr bool exact_remaining = true;
  /// A grant of this cost gives exactly its cost back, less what was granted since.
  template <typename Config>
  static constexpr bool partial_cancel(const Config&, Cost) {
    return false;
  }
  /// What refund() returns is what was given back; otherwise it may be more.
  static constexpr bool exact_refund = true;
};

/// A grant as its holder remembers it.
struct Held {
  Grant grant;
  Cost live;        ///< units that act: 0 once cancelled, fewer once refunded
  bool given_back;  ///< a grant is given back once
};

/// A point in a schedule; copies are independent of one another.
template <typename M>
struct Position {
  typename M::State state{};
  Instant now{};
  Instant deferred_until = Instant::min();  ///< the latest instant of a deferred grant
  bool gave_back = false;                   ///< something was cancelled or refunded
  bool set_back = false;                    ///< the clock was set back
};

/// Runs events and checks the laws after each. The first violation is kept as text.
///
/// The ledger of grants is shared by the positions of one path; who goes back along the path takes
/// the entries off again.
template <typename M>
class Laws {
 public:
  using State = typename M::State;
  using Config = typename M::Config;

  explicit Laws(const Config& config) : config_(config) {}

  std::vector<Held>& ledger() { return ledger_; }
  const std::string& violation() const { return violation_; }
  std::size_t grants_checked() const { return grants_checked_; }
  std::size_t cancels_checked() const { return cancels_checked_; }

  Decision take(Position<M>& at, const Request& request) {
    const State before = at.state;
    const Decision asked = peek<M>(config_, before, request);
    const Decision decision = step<M>(config_, at.state, request);
    if (request.now < at.now) at.set_back = true;
    at.now = request.now;

    expect(asked.verdict == decision.verdict, "peek and step agree on the verdict");
    check_shape(request, decision);
    const bool may_write = Punishing<M> && decision.verdict == Verdict::denied;
    if ((!taken(decision.verdict) && !may_write) || request.cost == 0) {
      expect(at.state == before, "a refusal and a probe leave the state as it was");
      expect(asked == decision, "peek tells what step tells where nothing changes");
    }
    check_instant(at.state, before, request, decision);
    if (taken(decision.verdict) && request.cost > 0) remember(at, request, decision);
    expect(decision.reset_at == std::max(at.now, M::fresh_at(config_, at.state)),
           "reset_at is when the state is as if never seen");
    check_room(at);
    if (taken(decision.verdict) || may_write) check_fresh(at.state);
    return decision;
  }

  Cost cancel(Position<M>& at, std::size_t index) {
    Held& held = ledger_[index];
    const State before = at.state;
    const bool in_time = at.now <= held.grant.acts_at;
    const Cost units = weir::cancel<M>(config_, at.state, at.now, held.grant);
    expect(units >= 0 && units <= held.grant.cost, "a cancelled grant gives back 0 to its cost");
    if (!in_time) expect(units == 0 && at.state == before, "a used grant cannot be cancelled");
    if (in_time && !at.gave_back) {
      Cost since = 0;
      for (std::size_t later = index + 1; later < ledger_.size(); ++later) {
        since += ledger_[later].grant.cost;
      }
      if (since == 0)
        expect(units == held.grant.cost, "the newest grant gives all of its cost back");
      if (Traits<M>::partial_cancel(config_, held.grant.cost) && !at.set_back) {
        expect(units == std::max<Cost>(0, held.grant.cost - since),
               "cancel gives back the cost less what came since");
      }
    }
    if (in_time) held.live = 0;
    held.given_back = true;
    at.gave_back = true;
    ++cancels_checked_;
    check_room(at);
    check_fresh(at.state);
    return units;
  }

  /// The newest grant's units were used and are given back.
  Cost refund(Position<M>& at, std::size_t index) {
    Held& held = ledger_[index];
    const Cost asked = held.live;
    const Cost units = M::refund(config_, at.state, at.now, asked);
    expect(units >= 0 && units <= asked, "refund gives back 0 to what was asked");
    held.live -= Traits<M>::exact_refund ? units : asked;
    held.given_back = true;
    at.gave_back = true;
    check_room(at);
    check_fresh(at.state);
    return units;
  }

  /// Whether a grant can still be cancelled at this instant by its holder.
  bool can_cancel(const Position<M>& at, const Held& held) const {
    return !held.given_back && at.now <= held.grant.acts_at;
  }

 private:
  void expect(bool holds, const char* law) {
    if (!holds && violation_.empty()) violation_ = law;
  }

  void check_shape(const Request& request, const Decision& decision) {
    const Span patience = request.patience.value_or(longest_span);
    switch (decision.verdict) {
      case Verdict::granted: expect(decision.ready_at == request.now, "granted means now"); break;
      case Verdict::deferred:
        expect(decision.ready_at > request.now, "deferred means later");
        expect(decision.ready_at - request.now <= patience, "deferred no longer than the patience");
        break;
      case Verdict::denied: expect(decision.ready_at > request.now, "denied means later"); break;
      case Verdict::impossible: expect(decision.ready_at == never, "impossible means never"); break;
    }
    expect((decision.verdict == Verdict::impossible) == impossible(request),
           "impossible exactly above the capacity, and with less patience than the least wait");
    expect(decision.remaining >= 0 && decision.remaining <= decision.limit,
           "remaining lies between 0 and the limit");
  }

  bool impossible(const Request& request) const {
    return request.cost > M::capacity(config_) ||
           patience_of(request, M::own_wait(config_, request.cost)) <
               least_wait<M>(config_, request.cost);
  }

  /// ready_at is exact: the same request is taken there, and not a tick earlier.
  void check_instant(const State& after, const State& before, Request request,
                     const Decision& decision) {
    const Instant now = request.now;
    if (decision.verdict == Verdict::denied) {
      request.now = decision.ready_at;
      expect(taken(verdict(after, request)), "denied: taken at ready_at");
      request.now = decision.ready_at - Span{1};
      expect(!taken(verdict(after, request)), "denied: not a tick before ready_at");
      request.now = now + (decision.ready_at - Span{1} - now) / 2;
      expect(!taken(verdict(after, request)), "denied: not halfway to ready_at");
    } else if (decision.verdict == Verdict::deferred) {
      request.patience = decision.ready_at - now - Span{1};
      expect(!taken(verdict(before, request)), "deferred: a tick less of patience is too little");
    }
  }

  void remember(Position<M>& at, const Request& request, const Decision& decision) {
    if (!at.gave_back) {
      expect(decision.ready_at >= at.deferred_until, "nobody acts before a deferred grant");
    }
    if (decision.verdict == Verdict::deferred) {
      at.deferred_until = std::max(at.deferred_until, decision.ready_at);
    }
    ledger_.push_back({grant_of<M>(config_, at.state, request, decision), request.cost, false});
    check_bound(decision.ready_at);
  }

  /// Every window that the newest grant is in and that begins and ends with a grant. A cost that
  /// was cancelled is not the largest of those that act.
  void check_bound(Instant newest) {
    acts_.clear();
    Cost largest = 1;
    for (const Held& held : ledger_) {
      if (held.live == 0) continue;
      acts_.push_back({held.grant.acts_at, held.live});
      largest = std::max(largest, held.grant.cost);
    }
    std::sort(acts_.begin(), acts_.end());
    for (std::size_t first = 0; first < acts_.size() && acts_[first].at <= newest; ++first) {
      Cost sum = 0;
      for (std::size_t last = first; last < acts_.size(); ++last) {
        sum += acts_[last].units;
        if (acts_[last].at < newest) continue;
        // Half-open: from just before the first to the last.
        const Span length = acts_[last].at - acts_[first].at + Span{1};
        expect(sum <= M::bound(config_, length, largest), "the bound");
      }
    }
    ++grants_checked_;
  }

  void check_room(const Position<M>& at) {
    const Room room = M::room(config_, at.state, at.now);
    expect(room.remaining >= 0 && room.remaining <= room.limit, "room lies within the limit");
    if (room.remaining > 0) {
      expect(taken(verdict(at.state, {at.now, room.remaining, {}})), "remaining is taken");
    }
    const Cost more = room.remaining + 1;
    if (Traits<M>::exact_remaining) {
      expect(!taken(verdict(at.state, {at.now, more, {}})), "more than remaining is not taken");
    }
  }

  /// From fresh_at on, decisions are those of a state never seen.
  void check_fresh(const State& state) {
    const Instant fresh_at = M::fresh_at(config_, state);
    if (fresh_at == Instant::min()) return;
    const State never_seen{};
    for (const Span later : {Span{0}, Span{1}, Span{4}}) {
      const Instant now = fresh_at + later;
      expect(same_answers(state, never_seen, now), "from fresh_at on, as one never seen");
    }
    State one = state;
    State other{};
    const Request request{fresh_at, 1, Span{3}};
    (void)step<M>(config_, one, request);
    (void)step<M>(config_, other, request);
    expect(same_answers(one, other, fresh_at), "and after a step, still as one never seen");
  }

  bool same_answers(const State& one, const State& other, Instant now) {
    for (const Request& request :
         {Request{now, 0, {}}, Request{now, 1, {}}, Request{now, M::capacity(config_), Span{3}}}) {
      if (peek<M>(config_, one, request) != peek<M>(config_, other, request)) return false;
    }
    return true;
  }

  Verdict verdict(const State& state, const Request& request) const {
    return peek<M>(config_, state, request).verdict;
  }

  struct Act {
    Instant at;
    Cost units;
    auto operator<=>(const Act&) const = default;
  };

  const Config& config_;
  std::vector<Held> ledger_;
  std::vector<Act> acts_;
  std::string violation_;
  std::size_t grants_checked_ = 0;
  std::size_t cancels_checked_ = 0;
};

}  // namespace weir::law
