// What a line must hold, in the slow and plain way.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "weir/algorithm/inherit.hpp"
#include "weir/local/line.hpp"

namespace weir::line_laws {

/// A line as a vector of places and a journal of everything else, replayed from its beginning
/// whenever the state without the places is asked for. Nothing is linked and nothing is patched.
template <Algorithm M>
class SlowLine {
 public:
  using Config = typename M::Config;
  using State = typename M::State;

  struct Turn {
    const Place* who;
    Place::Kind kind;
    Cost cost;
    Instant at;
  };
  struct Owed {
    Instant at;
    Cost units;
  };

  explicit SlowLine(const Config& config) : config_(&config) {}

  const State& state() const { return state_; }
  const std::vector<Turn>& turns() const { return turns_; }
  /// The owed units that may still be moved, where they stand now.
  const std::vector<Owed>& owed() const { return owed_; }
  /// Those that stand where they stand; the caller takes them.
  std::vector<Owed> take_settled() { return std::exchange(settled_, {}); }

  void pass(Instant now) {
    while (!turns_.empty() && turns_.front().at < now) pass_first();
  }
  void pass_all() {
    while (!turns_.empty()) pass_first();
  }

  Ruling judge(const Request& request) const {
    if (request.cost < 0 || request.cost > M::capacity(*config_)) {
      return {Verdict::impossible, never};
    }
    const Span patience = patience_of(request, M::own_wait(*config_, request.cost));
    if (patience < least_wait<M>(*config_, request.cost)) return {Verdict::impossible, never};
    Instant at = M::earliest(*config_, state_, request.now, request.cost);
    for (const Turn& turn : turns_) at = std::max(at, turn.at);
    if (at - request.now > patience) return {Verdict::denied, at - patience};
    return {at == request.now ? Verdict::granted : Verdict::deferred, at};
  }

  Ruling take(const Request& request) {
    const Ruling ruling = judge(request);
    if (!taken(ruling.verdict)) return refuse(request, ruling);
    if (request.cost == 0) return ruling;
    pass_all();
    M::charge(*config_, state_, ruling.ready_at, request.cost);
    begin_anew();
    return ruling;
  }

  Ruling join(const Request& request, const Place* who, Place::Kind kind) {
    const Ruling ruling = judge(request);
    if (!taken(ruling.verdict)) return refuse(request, ruling);
    if (turns_.empty()) begin_anew();
    Turn turn{who, kind, request.cost, ruling.ready_at};
    charge(state_, turn);
    turns_.push_back(turn);
    return ruling;
  }

  Cost leave(const Place* who, Instant now) {
    const auto found = find(who);
    const Cost cost = found->cost;
    turns_.erase(found);
    place_anew(now, Changed::less_taken);
    if (turns_.empty()) settle_owed();
    return cost;
  }

  void lower(const Place* who, Instant now, Cost cost) {
    find(who)->cost = cost;
    place_anew(now, Changed::less_taken);
  }

  Cost refund(Instant now, Cost units) {
    if (turns_.empty()) return M::refund(*config_, state_, now, units);
    State without = replay();
    const Cost given = M::refund(*config_, without, now, units);
    journal_.push_back([=](const Config& config, State& state) {
      static_cast<void>(M::refund(config, state, now, units));
    });
    place_anew(now, Changed::less_taken);
    return given;
  }

  void owe(Instant now, Cost units) {
    for (const Owed& piece : charge_owed(state_, now, units)) {
      (turns_.empty() ? settled_ : owed_).push_back(piece);
    }
  }

  void reconfigure(const Config& to, Instant now, Inherit how) {
    const Config& from = *config_;
    config_ = &to;
    if (turns_.empty()) {
      state_ = inherit<M>({from, state_, now}, {to, now}, how);
      return;
    }
    State without = replay_under(from);
    base_ = inherit<M>({from, without, now}, {to, now}, how);
    journal_.clear();
    for (std::size_t at = turns_.size(); at-- > 0;) {
      const bool hopeless =
          turns_[at].kind == Place::Kind::waiter && turns_[at].cost > M::capacity(to);
      if (hopeless) turns_.erase(turns_.begin() + static_cast<std::ptrdiff_t>(at));
    }
    place_anew(now, Changed::numbers);
    if (turns_.empty()) settle_owed();
  }

 private:
  using Entry = std::function<void(const Config&, State&)>;
  enum class Changed { less_taken, numbers };

  auto find(const Place* who) {
    return std::find_if(turns_.begin(), turns_.end(),
                        [&](const Turn& turn) { return turn.who == who; });
  }

  State replay() const { return replay_under(*config_); }
  State replay_under(const Config& config) const {
    State state = base_;
    for (const Entry& entry : journal_) entry(config, state);
    return state;
  }

  void begin_anew() {
    base_ = state_;
    journal_.clear();
  }

  void charge(State& state, const Turn& turn) { M::charge(*config_, state, turn.at, turn.cost); }

  void pass_first() {
    const Turn first = turns_.front();
    journal_.push_back([at = first.at, cost = first.cost](const Config& config, State& state) {
      M::charge(config, state, at, cost);
    });
    if (journal_.size() > 64) {
      base_ = replay();
      journal_.clear();
    }
    erase(turns_.begin());
  }

  template <typename At>
  void erase(At at) {
    turns_.erase(at);
    if (turns_.empty()) settle_owed();
  }
  void settle_owed() {
    settled_.insert(settled_.end(), owed_.begin(), owed_.end());
    owed_.clear();
  }

  Ruling refuse(const Request& request, Ruling ruling) {
    if constexpr (Punishing<M>) {
      if (ruling.verdict == Verdict::denied) {
        const Span patience = patience_of(request, M::own_wait(*config_, request.cost));
        const Entry entry = [=](const Config& config, State& state) {
          M::refuse(config, state, request.now, patience, request.cost);
        };
        entry(*config_, state_);
        if (!turns_.empty()) journal_.push_back(entry);
        return judge(request);
      }
    }
    return ruling;
  }

  /// Everybody's instant from nothing: of reservations the promised one, of waiters in their order
  /// the first that is lawful after all before them. What is promised for earlier goes first.
  void place_anew(Instant now, Changed changed) {
    State state = replay();
    std::vector<Turn> left = std::move(turns_);
    turns_.clear();
    while (!left.empty()) {
      std::size_t next = 0;
      if (left[0].kind == Place::Kind::waiter) {
        Instant at = M::earliest(*config_, state, now, left[0].cost);
        if (!turns_.empty()) at = std::max(at, turns_.back().at);
        at = std::max(at, now);
        if (changed == Changed::less_taken) at = std::min(at, left[0].at);
        const auto promised = std::find_if(left.begin(), left.end(), [](const Turn& turn) {
          return turn.kind == Place::Kind::reservation;
        });
        if (promised != left.end() && promised->at < at) {
          next = static_cast<std::size_t>(promised - left.begin());
        } else {
          left[0].at = at;
        }
      }
      Turn turn = left[next];
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(next));
      charge(state, turn);
      turns_.push_back(turn);
    }
    Cost units = 0;
    for (const Owed& piece : owed_) units += piece.units;
    owed_ = charge_owed(state, now, units);
    state_ = state;
  }

  std::vector<Owed> charge_owed(State& state, Instant now, Cost units) {
    std::vector<Owed> pieces;
    while (units > 0) {
      const Cost piece = std::min(units, M::capacity(*config_));
      const Instant at = M::earliest(*config_, state, now, piece);
      M::charge(*config_, state, at, piece);
      pieces.push_back({at, piece});
      units -= piece;
    }
    return pieces;
  }

  const Config* config_;
  State state_;
  State base_;
  std::vector<Entry> journal_;
  std::vector<Turn> turns_;
  std::vector<Owed> owed_;
  std::vector<Owed> settled_;
};

}  // namespace weir::line_laws
