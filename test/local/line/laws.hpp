// The laws of a line, checked after each event.
#pragma once

#include <array>
#include <functional>
#include <sstream>
#include <string>

#include "test/law/law.hpp"
#include "test/local/line/slow_line.hpp"

namespace weir::line_laws {

/// A line, the slow one beside it, and what was promised to whom. The first broken law is kept as
/// text. Events that have nothing to act on do nothing.
template <Algorithm M>
class Laws {
 public:
  using Config = typename M::Config;
  using Configs = std::vector<Config>;
  static constexpr std::size_t most_places = 12;

  /// Begins under the first.
  explicit Laws(const Configs& configs)
      : configs_(configs), config_(&configs.front()), slow_(*config_) {
    for (Spot& spot : spots_) spot.laws = this;
  }
  Laws(const Laws&) = delete;
  ~Laws() { quiet_ = true; }

  const std::string& violation() const { return violation_; }
  Instant now() const { return now_; }
  std::size_t moves() const { return moves_; }
  std::size_t acted() const { return acted_; }
  std::size_t in_line() const { return line_.size(); }

  void advance(Span by) {
    now_ += by;
    begin();
    line_.pass(*config_, now_);
    slow_.pass(now_);
    end(Event::time);
  }

  Verdict take(Cost cost) {
    begin();
    const Instant last = line_.last_at();
    const Request request{now_, cost, Span{0}};
    const Ruling ruling = line_.take(*config_, request);
    compare(ruling, slow_.take(request));
    if (taken(ruling.verdict)) {
      expect(last <= ruling.ready_at, "nobody acts before those in line");
      act(ruling.ready_at, cost);
    }
    end(Event::newcomer);
    return ruling.verdict;
  }

  struct Wish {
    Place::Kind kind;
    Cost cost;
    Span patience{longest_span};
  };
  void join(const Wish& wish) {
    Spot* const free = free_spot();
    if (!free) return;
    begin();
    const Instant last = line_.last_at();
    const Request request{now_, wish.cost, wish.patience};
    free->kind = wish.kind;
    const Ruling ruling = line_.join(*config_, request, *free);
    compare(ruling, slow_.join(request, free, wish.kind));
    if (taken(ruling.verdict)) {
      expect(last <= ruling.ready_at, "nobody stands before those in line");
      free->held_at = ruling.ready_at;
      largest_ = std::max(largest_, wish.cost);
    }
    end(Event::newcomer);
  }

  void leave(std::size_t kth) {
    Spot* const place = in_line(kth);
    if (!place) return;
    begin();
    const Cost cost = place->cost;
    const Cost given = line_.leave(*config_, *place, now_, teller());
    expect(given == slow_.leave(place, now_), "as much is given back");
    expect(given == cost, "a place gives all back");
    end(Event::less_taken);
  }

  /// The k-th place costs one unit less.
  void lower(std::size_t kth) {
    Spot* const place = in_line(kth);
    if (!place || place->kind != Place::Kind::reservation || place->cost < 2) return;
    begin();
    const Cost cost = place->cost - 1;
    line_.lower(*config_, *place, now_, cost, teller());
    slow_.lower(place, now_, cost);
    end(Event::less_taken);
  }

  /// What acted last is given back.
  void refund_newest() {
    const auto newest =
        std::max_element(acts_.begin(), acts_.end(),
                         [](const Act& left, const Act& right) { return left.at <= right.at; });
    if (newest == acts_.end() || newest->at > now_ || newest->given_back) return;
    begin();
    Act& act = *newest;
    const Cost given = line_.refund(*config_, now_, act.units, teller());
    expect(given == slow_.refund(now_, act.units), "as much is refunded");
    expect(given >= 0 && given <= act.units, "no more than was asked is refunded");
    act.units -= law::Traits<M>::exact_refund ? given : act.units;
    act.given_back = true;
    end(Event::less_taken);
  }

  void owe(Cost units) {
    if (slow_.owed().size() > 6) return;  // or a long schedule would do little else
    begin();
    line_.owe(*config_, now_, units);
    slow_.owe(now_, units);
    largest_ = std::max(largest_, std::min(units, M::capacity(*config_)));
    end(Event::newcomer);
  }

  void reconfigure(std::size_t which, Inherit how) {
    begin();
    const Config from = *config_;
    const Config& to = configs_[which % configs_.size()];
    line_.reconfigure(
        to, now_,
        [&](const typename M::State& state) {
          return inherit<M>({from, state, now_}, {to, now_}, how);
        },
        [](Instant at) { return at; }, teller());
    slow_.reconfigure(to, now_, how);
    config_ = &to;
    reconfigured_ = true;
    end(Event::numbers);
  }

 private:
  enum class Event { time, newcomer, less_taken, numbers };

  struct Spot final : Place {
    Spot() : Place(Kind::waiter) {}
    void passed() noexcept override { laws->passed(*this); }
    Laws* laws = nullptr;
    Instant held_at{};  ///< what its holder was told
    bool was_told = false;
  };
  struct Act {
    Instant at;
    Cost units;
    bool given_back = false;
  };

  void expect(bool holds, const char* law) {
    if (!holds && violation_.empty()) violation_ = law;
  }
  void compare(const Ruling& told, const Ruling& right) {
    expect(told.verdict == right.verdict && told.ready_at == right.ready_at,
           "newcomers are answered as by the slow line");
  }

  auto teller() {
    return [this](Place& place) {
      auto& spot = static_cast<Spot&>(place);
      expect(!spot.was_told, "a place is told once");
      spot.was_told = true;
      ++moves_;
    };
  }

  void passed(Spot& spot) {
    if (quiet_) return;
    expect(spot.acts_at <= now_, "only whose instant has come is forgotten");
    act(spot.acts_at, spot.cost);
  }
  void act(Instant at, Cost units) {
    if (units == 0) return;
    largest_ = std::max(largest_, units);
    acts_.push_back({at, units});
    ++acted_;
  }

  Spot* free_spot() {
    for (Spot& spot : spots_) {
      if (spot.state != Place::State::in_line) return &spot;
    }
    return nullptr;
  }
  Spot* in_line(std::size_t kth) {
    if (kth >= slow_.turns().size()) return nullptr;
    for (Spot& spot : spots_) {
      if (&spot == slow_.turns()[kth].who) return &spot;
    }
    return nullptr;
  }

  void begin() {
    for (Spot& spot : spots_) spot.was_told = false;
    before_ = slow_.turns();
  }

  void end(Event event) {
    for (const auto& owed : slow_.take_settled()) act(owed.at, owed.units);
    expect(line_.size() == slow_.turns().size(), "as many stand in line");
    expect(line_.empty() == slow_.turns().empty(), "empty with the slow one");
    check_order();
    check_promises(event);
    expect(line_.state() == slow_.state(), "the state of the slow line");
    // Reservations that were promised under other numbers act all the same.
    if (!reconfigured_) check_bound();
  }

  void check_order() {
    const Place* before = nullptr;
    for (const auto& turn : slow_.turns()) {
      const Place& place = *turn.who;
      expect(place.state == Place::State::in_line && place.before == before,
             "the places stand in the slow line's order");
      if (before) {
        expect(before->behind == &place, "links go both ways");
        expect(before->acts_at <= place.acts_at, "first come, first served");
      }
      expect(place.acts_at == turn.at && place.cost == turn.cost, "the slow line's instants");
      expect(place.acts_at >= now_, "nobody's instant lies behind");
      before = &place;
    }
    if (before) {
      expect(!before->behind, "the last is the last");
      expect(line_.last_at() == before->acts_at, "last_at is the last one's");
    }
  }

  void check_promises(Event event) {
    for (Spot& spot : spots_) {
      if (spot.state == Place::State::impossible) {
        expect(event != Event::numbers || spot.was_told || spot.held_at == Instant::max(),
               "who can never be granted is told");
        spot.held_at = Instant::max();
        continue;
      }
      if (spot.state != Place::State::in_line) continue;
      const bool moved = spot.acts_at != spot.held_at;
      expect(moved == spot.was_told, "who moves is told, and nobody else");
      if (spot.kind == Place::Kind::reservation) {
        expect(!moved, "a reservation's instant is never changed");
      } else if (event != Event::numbers) {
        expect(spot.acts_at <= spot.held_at, "a waiter's instant never gets later");
      }
      spot.held_at = spot.acts_at;
    }
    // Whoever stood behind a reservation acts no sooner.
    for (std::size_t first = 0; first < before_.size(); ++first) {
      const auto& promised = before_[first];
      if (promised.kind != Place::Kind::reservation || !stands(promised.who)) continue;
      for (std::size_t next = first + 1; next < before_.size(); ++next) {
        if (!stands(before_[next].who)) continue;
        expect(before_[next].who->acts_at >= promised.who->acts_at,
               "nobody moves before a reservation that stood before it");
      }
    }
  }
  static bool stands(const Place* place) { return place->state == Place::State::in_line; }

  /// What acted, what will act, and what is owed keep the promise in every window.
  void check_bound() {
    auto all = acts_;
    for (const auto& turn : slow_.turns()) all.push_back({turn.at, turn.cost});
    for (const auto& owed : slow_.owed()) {
      all.push_back({owed.at, owed.units});
      largest_ = std::max(largest_, owed.units);
    }
    std::sort(all.begin(), all.end(),
              [](const Act& left, const Act& right) { return left.at < right.at; });
    for (std::size_t first = 0; first < all.size(); ++first) {
      Cost sum = 0;
      for (std::size_t last = first; last < all.size(); ++last) {
        sum += all[last].units;
        const Span length = all[last].at - all[first].at + Span{1};
        expect(sum <= M::bound(*config_, length, largest_), "the bound");
      }
    }
    // Long runs look at the newest alone.
    if (acts_.size() > 24) acts_.erase(acts_.begin(), acts_.begin() + 12);
  }

  const Configs& configs_;
  const Config* config_;
  Instant now_{Span{-2}};  // so that aligned windows are seen on both sides of the epoch
  std::array<Spot, most_places> spots_;
  Line<M> line_;
  SlowLine<M> slow_;
  std::vector<typename SlowLine<M>::Turn> before_;
  std::vector<Act> acts_;
  Cost largest_ = 1;
  bool reconfigured_ = false;
  bool quiet_ = false;
  std::size_t moves_ = 0;
  std::size_t acted_ = 0;
  std::string violation_;
};

}  // namespace weir::line_laws
