// One limiter's state, and the line of those whose turn has not come yet.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "weir/algorithm/concept.hpp"
#include "weir/steady_instant.hpp"

namespace weir {

/// A place in line. Who waits owns it; the line only links it, so that waiting allocates nothing.
class Place {
 public:
  enum class Kind : std::uint8_t {
    waiter,       ///< moves to an earlier instant when somebody before it leaves
    reservation,  ///< its instant was promised: it stays, and nobody behind moves past it
  };
  enum class State : std::uint8_t {
    apart,       ///< never in line, given back, or its instant has passed
    in_line,     ///< acts at `acts_at`
    impossible,  ///< the limit was changed to one that can never grant it
  };

  explicit Place(Kind as) : kind(as) {}
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  /// Called under the limiter's lock when ready_at or state has changed by another's doing.
  virtual void moved() noexcept {}
  /// Called under the limiter's lock when the line has forgotten it; may destroy it.
  virtual void passed() noexcept {}

  Kind kind;
  State state = State::apart;
  Cost cost = 0;
  Instant acts_at{};         ///< in the limiter's own ticks
  SteadyInstant ready_at{};  ///< the same for its owner; the host writes it
  Cost charged_until = 0;    ///< all units that the line had ever charged right after it
  Place* before = nullptr;
  Place* behind = nullptr;

 protected:
  ~Place() = default;
};

/// The state of one limiter, and those who were told an instant that has not come yet: first come,
/// first served. A place is charged when it is given, so the state knows all of them; beside it is
/// kept the state as it would be without them. When one leaves, the others are charged anew from
/// there, each at its first lawful instant, a reservation at the one that it was promised.
///
/// A pure machine like those it works on: no lock and no clock, and no heap but a state's own. What
/// re-times places takes `tell`, which it calls with each place that got another instant or none.
///
/// Bound    the machine's own, whoever comes, leaves and moves
/// Cost     a step; leaving costs one for each place in line
template <Algorithm M>
class Line {
 public:
  using Config = typename M::Config;
  using State = typename M::State;

  Line() = default;
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  ~Line() {
    while (first_) {
      Place& first = *first_;
      unlink(first);
      first.passed();
    }
  }

  const State& state() const noexcept { return state_; }
  /// For a host that keeps the state elsewhere meanwhile. Requires an empty line.
  void set_state(State state) noexcept { state_ = std::move(state); }

  bool empty() const noexcept { return !first_; }
  std::size_t size() const noexcept { return size_; }
  /// Units that a host charged without the line.
  void count(Cost units) noexcept { charged_ += units; }

  /// The instant of the last in line: nobody who comes now acts earlier.
  Instant last_at() const noexcept { return last_ ? last_->acts_at : Instant::min(); }

  /// Forgets the places whose instant lies before `now`. Whatever changes the line comes after.
  void pass(const Config& config, Instant now) {
    while (first_ && first_->acts_at < now) pass_first(config);
  }
  void pass_all(const Config& config) {
    while (first_) pass_first(config);
  }
  /// Forgets a place whose instant has come, and those before it: they are due no later.
  void settle(const Config& config, Place& place) {
    while (place.state == Place::State::in_line) pass_first(config);
  }

  /// What take() would rule.
  Ruling judge(const Config& config, const Request& request) const noexcept {
    if (request.cost < 0 || request.cost > M::capacity(config)) return {Verdict::impossible, never};
    const Span patience = patience_of(request, M::own_wait(config, request.cost));
    if (patience < least_wait<M>(config, request.cost)) return {Verdict::impossible, never};
    const Instant own = M::earliest(config, state_, request.now, request.cost);
    const Instant ready_at = std::max(own, last_at());
    if (ready_at - request.now > patience) return {Verdict::denied, ready_at - patience};
    return {ready_at == request.now ? Verdict::granted : Verdict::deferred, ready_at};
  }

  /// Takes or refuses, for who acts at once. Requires patience 0.
  Ruling take(const Config& config, const Request& request) {
    const Ruling ruling = judge(config, request);
    if (!taken(ruling.verdict)) return refuse(config, request, ruling);
    if (request.cost == 0) return ruling;
    pass_all(config);  // they act at this instant too, or before
    M::charge(config, state_, ruling.ready_at, request.cost);
    count(request.cost);
    return ruling;
  }

  /// The same, if after it so much is still to be had at once. Such a refusal punishes nobody.
  Ruling take_keeping(const Config& config, const Request& request, Cost keep) {
    const bool sane = request.cost >= 0 && request.cost <= M::capacity(config) - keep;
    if (!sane) return {Verdict::impossible, never};
    const Ruling ruling = judge(config, {request.now, request.cost + keep, request.patience});
    return taken(ruling.verdict) ? take(config, request) : ruling;
  }

  /// Takes or refuses; where taken, the place is in line. Requires a cost of 1 or more.
  Ruling join(const Config& config, const Request& request, Place& place) {
    const Ruling ruling = judge(config, request);
    if (!taken(ruling.verdict)) return refuse(config, request, ruling);
    if (!first_) {
      without_ = state_;
      owed_ = 0;
    }
    place.cost = request.cost;
    M::charge(config, state_, ruling.ready_at, request.cost);
    place.acts_at = ruling.ready_at;
    count(request.cost);
    place.charged_until = charged_;
    link(place);
    return ruling;
  }

  /// Gives a place back, all of it: waiters behind it move up, reservations stay where they are.
  /// (A machine's cancel would count what came since as standing at its first lawful instant, which
  /// a reservation whose forerunner has left does not.) Returns the units.
  template <typename Tell>
  Cost leave(const Config& config, Place& place, Instant now, Tell&& tell) {
    if (place.state != Place::State::in_line) return 0;
    unlink(place);
    charge_anew(config, now, Because::less_taken, tell);
    return place.cost;
  }

  /// Lets go of a place, and gives nothing back: for want of memory to charge the others anew.
  void drop(Place& place) noexcept {
    if (place.state == Place::State::in_line) unlink(place);
  }

  /// A place costs less than was taken for it; waiters move up. Requires 0 < cost <= its own.
  template <typename Tell>
  void lower(const Config& config, Place& place, Instant now, Cost cost, Tell&& tell) {
    place.cost = cost;
    charge_anew(config, now, Because::less_taken, tell);
  }

  /// Gives back units of a place whose instant has come, and that were never used: as many as
  /// newcomers may have beside all that was charged since.
  template <typename Tell>
  Cost unused(const Config& config, const Place& place, Instant now, Cost units, Tell&& tell) {
    const Cost since = charged_ - place.charged_until;
    if (first_) return since == 0 ? refund(config, now, units, tell) : 0;
    return give_back_unused<M>(config, state_, now, {units, since});
  }

  /// Gives back units that were taken to act at once, and not used; waiters move up. Whoever took
  /// them let those pass who stood in line then, so the state without places has them too.
  template <typename Tell>
  void withdraw(const Config& config, Instant now, const Withdrawal& withdrawal, Tell&& tell) {
    if (!first_) return M::withdraw(config, state_, now, withdrawal);
    M::withdraw(config, without_, now, withdrawal);
    charge_anew(config, now, Because::less_taken, tell);
  }

  /// Gives back units that were used; waiters move up.
  template <typename Tell>
  Cost refund(const Config& config, Instant now, Cost units, Tell&& tell) {
    if (!first_) return M::refund(config, state_, now, units);
    const Cost given = M::refund(config, without_, now, units);
    charge_anew(config, now, Because::less_taken, tell);
    return given;
  }

  /// Charges units that were used without being taken: who comes now waits for them, nobody in line
  /// does. At most `most_owed` times what can be granted at once, and no further ahead than
  /// `owed_ahead`, for who holds the lock meanwhile.
  void owe(const Config& config, Instant now, Cost units) {
    const Cost most = most_units_owed(config);  // which other numbers may have made less
    units = std::min(units, most);
    if (first_) owed_ += std::min(units, std::max<Cost>(most - owed_, 0));
    charge_owed(config, state_, now, units);
    count(units);
  }
  static constexpr Cost most_owed = 4096;
  static constexpr Span owed_ahead{std::int64_t{1} << 60};

  /// Goes on under other numbers. `carry(state)` is the state under them, for one without places in
  /// line; `translate(instant)` the same instant in their ticks. Waiters get new instants, those of
  /// reservations stay, so one may get before a waiter that stood before it. A waiter that can
  /// never be granted any more is told so.
  template <typename Carry, typename Translate, typename Tell>
  void reconfigure(const Config& to, Instant now, Carry&& carry, Translate&& translate,
                   Tell&& tell) {
    if (!first_) {
      state_ = carry(std::as_const(state_));
      return;
    }
    without_ = carry(std::as_const(without_));
    for (Place* place = first_; place;) {
      Place* const next = place->behind;
      place->acts_at = translate(place->acts_at);
      if (place->kind == Place::Kind::waiter && place->cost > M::capacity(to)) {
        unlink(*place);
        place->state = Place::State::impossible;
        tell(*place);
      }
      place = next;
    }
    charge_anew(to, now, Because::numbers, tell);
  }

  /// Another object takes a place over.
  void replace(Place& place, Place& with) noexcept {
    with.kind = place.kind;
    with.state = std::exchange(place.state, Place::State::apart);
    with.cost = place.cost;
    with.acts_at = place.acts_at;
    with.ready_at = place.ready_at;
    with.charged_until = place.charged_until;
    if (with.state != Place::State::in_line) return;
    with.before = std::exchange(place.before, nullptr);
    with.behind = std::exchange(place.behind, nullptr);
    (with.before ? with.before->behind : first_) = &with;
    (with.behind ? with.behind->before : last_) = &with;
  }

 private:
  Ruling refuse(const Config& config, const Request& request, Ruling ruling) {
    if constexpr (Punishing<M>) {
      if (ruling.verdict == Verdict::denied) {
        const Span patience = patience_of(request, M::own_wait(config, request.cost));
        M::refuse(config, state_, request.now, patience, request.cost);
        if (first_) M::refuse(config, without_, request.now, patience, request.cost);
        return judge(config, request);
      }
    }
    return ruling;
  }

  enum class Because : std::uint8_t { less_taken, numbers };

  template <typename Tell>
  void charge_anew(const Config& config, Instant now, Because because, Tell&& tell) {
    State anew = without_;
    Instant least = now;
    Place* promised = reservation_from(first_);
    for (Place* place = first_; place; place = place->behind) {
      Instant was = place->acts_at;
      Instant at = was;
      if (place->kind == Place::Kind::waiter) {
        at = std::max(least, M::earliest(config, anew, now, place->cost));
        // What it was told stays lawful, though a fraction of a tick or a penalty says otherwise.
        if (because == Because::less_taken) at = std::min(at, was);
      }
      if (promised && promised->acts_at < at) {  // the line stays in the order of its instants
        Place& sooner = *promised;
        promised = reservation_from(sooner.behind);
        move_before(sooner, *place);
        place = &sooner;
        at = was = sooner.acts_at;
      } else if (promised == place) {
        promised = reservation_from(place->behind);
      }
      least = std::max(least, at);
      M::charge(config, anew, at, place->cost);
      place->acts_at = at;
      if (at != was) tell(*place);
    }
    charge_owed(config, anew, now, owed_);
    state_ = std::move(anew);
  }

  static Place* reservation_from(Place* place) noexcept {
    while (place && place->kind != Place::Kind::reservation) place = place->behind;
    return place;
  }

  static void charge_owed(const Config& config, State& state, Instant now, Cost units) {
    const Cost most = M::capacity(config);
    while (units > 0 && most > 0) {  // where nothing is ever granted, nobody waits for it
      const Cost piece = std::min(units, most);
      const Instant at = M::earliest(config, state, now, piece);
      if (at - now > owed_ahead) return;
      M::charge(config, state, at, piece);
      units -= piece;
    }
  }

  static Cost most_units_owed(const Config& config) noexcept {
    constexpr Cost most = std::numeric_limits<Cost>::max();
    const Cost capacity = M::capacity(config);
    return capacity > most / most_owed ? most : capacity * most_owed;
  }

  void pass_first(const Config& config) {
    Place& first = *first_;
    if (first.behind) M::charge(config, without_, first.acts_at, first.cost);
    unlink(first);
    first.passed();
  }

  void link(Place& place) noexcept {
    place.state = Place::State::in_line;
    place.before = last_;
    place.behind = nullptr;
    (last_ ? last_->behind : first_) = &place;
    last_ = &place;
    ++size_;
  }

  void move_before(Place& place, Place& other) noexcept {
    (place.before ? place.before->behind : first_) = place.behind;
    (place.behind ? place.behind->before : last_) = place.before;
    place.before = other.before;
    place.behind = &other;
    (other.before ? other.before->behind : first_) = &place;
    other.before = &place;
  }

  void unlink(Place& place) noexcept {
    (place.before ? place.before->behind : first_) = place.behind;
    (place.behind ? place.behind->before : last_) = place.before;
    place.before = place.behind = nullptr;
    place.state = Place::State::apart;
    --size_;
  }

  State state_;    ///< all that was taken
  State without_;  ///< without the places in line; means nothing while there are none
  Place* first_ = nullptr;
  Place* last_ = nullptr;
  std::size_t size_ = 0;
  Cost owed_ = 0;     ///< since there are places in line
  Cost charged_ = 0;  ///< ever, whatever was given back
};

}  // namespace weir
