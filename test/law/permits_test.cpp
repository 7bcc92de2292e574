// Permits that are entered, left, renewed and forgotten: never more inside than the limit, and all
// answers those of a slow and obvious twin that keeps every permit.
#include <gtest/gtest.h>

#include <array>
#include <iostream>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "test/law/machines.hpp"

namespace weir::law {
namespace {

/// Every permit that was ever given, in a list.
class ListOfPermits {
 public:
  explicit ListOfPermits(const Concurrency::Config& config) : config_(config) {}

  /// The instant at which it may enter: places only open when leases end.
  Instant earliest(Instant now, Cost weight) const {
    const Instant first = std::max(now, granted_at_);
    Instant found = inside(first) + weight <= config_.limit ? first : never;
    for (const Inside& each : all_) {
      if (each.leaves_at <= first || inside(each.leaves_at) + weight > config_.limit) continue;
      found = std::min(found, each.leaves_at);
    }
    return found;
  }
  Cost remaining(Instant now) const {
    return granted_at_ > now ? 0 : std::max<Cost>(0, config_.limit - inside(now));
  }
  void enter(Instant now, Cost weight, PermitId permit) {
    granted_at_ = now;
    all_.push_back({permit, weight, now + config_.lease});
  }
  Cost leave(Instant now, PermitId permit) {
    Inside* found = find(now, permit);
    return found ? std::exchange(found->weight, 0) : 0;
  }
  Span renew(Instant now, PermitId permit) {
    Inside* found = find(now, permit);
    if (!found) return Span{0};
    found->leaves_at = std::max(found->leaves_at, now + config_.lease);
    return found->leaves_at - now;
  }
  /// Of those whose holders have not left and whose leases have not ended.
  Cost inside(Instant at) const {
    Cost sum = 0;
    for (const Inside& each : all_) {
      if (each.leaves_at > at) sum += each.weight;
    }
    return sum;
  }

 private:
  struct Inside {
    PermitId permit;
    Cost weight;  ///< 0 once left
    Instant leaves_at;
  };
  Inside* find(Instant now, PermitId permit) {
    for (Inside& each : all_) {
      const bool over = each.leaves_at <= std::max(now, granted_at_);
      if (each.permit == permit && each.weight > 0 && !over) return &each;
    }
    return nullptr;
  }

  Concurrency::Config config_;
  Instant granted_at_ = Instant::min();
  std::vector<Inside> all_;
};

struct Event {
  enum class Kind : std::uint8_t { enter, leave, renew, drop };
  Kind kind;
  Span step;
  std::int64_t
      which;  ///< its weight; or whose permit: 0 the first's, 1 the second's, -1 the last's
};

std::string print(const Event& event) {
  constexpr std::array names{"enter ", "leave ", "renew ", "drop "};
  std::ostringstream text;
  text << "after " << event.step.count() << " " << names[static_cast<std::size_t>(event.kind)]
       << event.which << "; ";
  return text.str();
}

/// The machine and its twin; copies are independent of one another.
class Both {
 public:
  explicit Both(const Concurrency::Config& config) : config_(&config), twin_(config) {}

  /// What is wrong after the event; empty: nothing.
  std::string happens(const Event& event) {
    now_ = std::max(now_ + event.step, dropped_at_);
    latest_now_ = std::max(latest_now_, now_);
    switch (event.kind) {
      case Event::Kind::enter: return enter(event.which);
      case Event::Kind::leave: return leave(permit(event.which));
      case Event::Kind::renew: return renew(permit(event.which));
      case Event::Kind::drop:
        // As a host does, whose clock does not go back.
        if (Concurrency::fresh_at(*config_, state_) <= now_) {
          state_ = {};
          dropped_at_ = now_;
        }
        break;
    }
    return {};
  }

  std::size_t entered() const { return given_.size(); }
  std::size_t gave_back() const { return gave_back_; }
  std::size_t renewed() const { return renewed_; }
  std::size_t denied() const { return denied_; }

 private:
  PermitId permit(std::int64_t which) const {
    if (given_.empty()) return PermitId{7};
    const auto last = static_cast<std::int64_t>(given_.size()) - 1;
    return given_[static_cast<std::size_t>(which < 0 ? last : std::min(which, last))];
  }

  std::string enter(Cost weight) {
    const Instant ready_at = twin_.earliest(now_, weight);
    const Concurrency::State before = state_;
    const Decision decision = step<Concurrency>(*config_, state_, {now_, weight, Span{3}});
    if (decision.ready_at != ready_at) return "another instant";
    if ((decision.verdict == Verdict::granted) != (ready_at == now_)) return "another verdict";
    if (!taken(decision.verdict)) {
      ++denied_;
      if (decision.verdict != Verdict::denied) return "neither granted nor denied";
      if (!(state_ == before)) return "a refusal wrote";
    } else {
      FineInstant mark;
      Concurrency::mark(*config_, state_, &mark);
      const PermitId permit = Concurrency::permit_of(mark);
      if (permit == PermitId::none) return "no permit";
      for (const PermitId other : given_) {
        if (other == permit) return "a permit given twice";
      }
      given_.push_back(permit);
      twin_.enter(now_, weight, permit);
    }
    if (decision.remaining != twin_.remaining(now_)) return "another remaining";
    return inside();
  }
  std::string leave(PermitId permit) {
    const Concurrency::State before = state_;
    const Cost back = Concurrency::leave(*config_, state_, now_, permit);
    if (back != twin_.leave(now_, permit)) return "another weight given back";
    if (back == 0 && !(state_ == before)) return "a leave that gives nothing back wrote";
    if (Concurrency::leave(*config_, state_, now_, permit) != 0) return "left twice";
    if (back > 0) ++gave_back_;
    return inside();
  }
  std::string renew(PermitId permit) {
    const Span left = Concurrency::renew(*config_, state_, now_, permit);
    if (left != twin_.renew(now_, permit)) return "another lease";
    if (left > Span{0}) ++renewed_;
    return inside();
  }
  /// As its holders know it: who was told a time at which its lease had ended is out.
  std::string inside() const {
    return twin_.inside(latest_now_) > config_->limit ? "more inside than the limit" : "";
  }

  const Concurrency::Config* config_;
  Concurrency::State state_;
  ListOfPermits twin_;
  Instant now_{Span{-2}};
  Instant latest_now_{now_};
  Instant dropped_at_ = Instant::min();
  std::vector<PermitId> given_;
  std::size_t gave_back_ = 0;
  std::size_t renewed_ = 0;
  std::size_t denied_ = 0;
};

constexpr auto enter = Event::Kind::enter;
constexpr std::array alphabet{
    Event{enter, Span{0}, 1},
    Event{enter, Span{1}, 2},
    Event{enter, Span{3}, 1},
    Event{enter, Span{-1}, 1},
    Event{Event::Kind::leave, Span{0}, 0},
    Event{Event::Kind::leave, Span{0}, -1},
    Event{Event::Kind::leave, Span{2}, 1},
    Event{Event::Kind::renew, Span{1}, 0},
    Event{Event::Kind::renew, Span{0}, -1},
    Event{Event::Kind::renew, Span{-1}, 0},
    Event{Event::Kind::drop, Span{2}, 0},
};

struct Walked {
  std::size_t events = 0;
  std::size_t entered = 0;
  std::size_t gave_back = 0;
  std::size_t renewed = 0;
  std::size_t denied = 0;
  std::string violation;
};

void walk(const Both& from, std::size_t depth, const std::string& path, Walked& walked) {
  if (depth == 0) {
    walked.entered += from.entered();
    walked.gave_back += from.gave_back();
    walked.renewed += from.renewed();
    walked.denied += from.denied();
    return;
  }
  for (const Event& event : alphabet) {
    Both to = from;
    ++walked.events;
    const std::string wrong = to.happens(event);
    if (!wrong.empty()) {
      walked.violation = wrong + ": " + path + print(event);
    } else {
      walk(to, depth - 1, path + print(event), walked);
    }
    if (!walked.violation.empty()) return;
  }
}

TEST(Permits, OfEveryShortScheduleAreThoseOfAList) {
  for (const Concurrency::Settings settings :
       {Concurrency::Settings{2, Span{3}}, Concurrency::Settings{3, Span{2}},
        Concurrency::Settings{2, Span{1}}}) {
    const auto config = at_once(settings);
    Walked walked;
    walk(Both(config), 5, "", walked);
    EXPECT_EQ(walked.violation, "") << settings.count << " for " << settings.lease.count();
    EXPECT_GT(walked.gave_back, walked.events / 10);
    EXPECT_GT(walked.renewed, walked.events / 10);
    EXPECT_GT(walked.denied, walked.events / 10);
    std::cout << walked.events << " events, " << walked.entered << " entered\n";
  }
}

TEST(Permits, OfLongSchedulesAreThoseOfAList) {
  std::mt19937_64 random(20'261'120);
  const auto below = [&](std::int64_t end) {
    return std::uniform_int_distribution<std::int64_t>(0, end - 1)(random);
  };
  for (const Concurrency::Settings settings :
       {Concurrency::Settings{1, Span{50}}, Concurrency::Settings{7, Span{40}},
        Concurrency::Settings{60, Span{1'000}}}) {
    const auto config = at_once(settings);
    const std::int64_t lease = settings.lease.count();
    for (int schedule = 0; schedule < 60; ++schedule) {
      Both both(config);
      std::string path;
      for (int at = 0; at < 250; ++at) {
        Event event{static_cast<Event::Kind>(std::max<std::int64_t>(0, below(8) - 4)),
                    Span{below(3) == 0 ? below(lease / 4 + 2) : 0}, -1};
        if (below(40) == 0) event.step = Span{-below(lease / 3 + 2)};
        if (event.kind == Event::Kind::enter) {
          event.which = below(6) == 0 ? 1 + below(settings.count) : 1;
        } else {
          event.which = static_cast<std::int64_t>(both.entered()) - 1 - below(settings.count + 2);
        }
        path += print(event);
        ASSERT_EQ(both.happens(event), "")
            << settings.count << ", … "
            << path.substr(path.size() - std::min<std::size_t>(path.size(), 300));
      }
      EXPECT_GT(both.entered(), 4u);
    }
  }
}

/// Calls that never leave and never wait.
TEST(Permits, ThatNobodyGivesBackAreASlidingLog) {
  std::mt19937_64 random(11);
  for (const Cost count : {1, 3, 40}) {
    const Span span{1'000};
    const auto permits = at_once({count, span});
    const auto instants = log({count, span});
    Concurrency::State inside;
    SlidingLog::State logged;
    Instant now{};
    for (int call = 0; call < 4'000; ++call) {
      now += Span{static_cast<std::int64_t>(random() % 7 == 0 ? random() % 900 : random() % 30)};
      if (random() % 50 == 0) now -= Span{static_cast<std::int64_t>(random() % 400)};
      const Request request{now, static_cast<Cost>(random() % 3), Span{0}};
      const Decision one = step<Concurrency>(permits, inside, request);
      const Decision other = step<SlidingLog>(instants, logged, request);
      ASSERT_EQ(one.verdict, other.verdict) << call;
      ASSERT_EQ(one.ready_at, other.ready_at) << call;
      ASSERT_EQ(one.remaining, other.remaining) << call;
    }
  }
}

/// What several keys share is charged also where it has no room.
TEST(Permits, OfAFullStateCountWhatIsThereOrTheLimit) {
  std::mt19937_64 random(5);
  const auto config = at_once({6, Span{40}});
  for (int schedule = 0; schedule < 200; ++schedule) {
    Concurrency::State state;
    std::vector<std::pair<Instant, Cost>> all;
    Instant now{};
    for (int charge = 0; charge < 40; ++charge) {
      now += Span{static_cast<std::int64_t>(random() % 12)};
      const Cost weight = 1 + static_cast<Cost>(random() % 6);
      Concurrency::charge(config, state, now, weight);
      all.emplace_back(now + config.lease, weight);
      for (Instant at = now; at < now + config.lease + Span{2}; at += Span{1}) {
        Cost inside = 0;
        for (const auto& [leaves_at, units] : all) inside += leaves_at > at ? units : 0;
        ASSERT_EQ(Concurrency::room(config, state, at).remaining,
                  config.limit - std::min(config.limit, inside));
      }
    }
  }
}

TEST(Permits, StayInsideWhenTheNumbersChange) {
  const auto before = at_once({5, Span{100}});
  const auto after = at_once({2, Span{30}});
  Concurrency::State state;
  for (int call = 0; call < 4; ++call) {
    (void)step<Concurrency>(before, state, {Instant{Span{10}}, 1, {}});
  }
  const Instant now{Span{20}};
  for (const Inherit how : {Inherit::as_is, Inherit::proportional, Inherit::additive}) {
    auto kept = inherit<Concurrency>({before, state, now}, {after, now}, how);
    EXPECT_EQ(kept, state);
    EXPECT_EQ(step<Concurrency>(after, kept, {now, 1, {}}).verdict, Verdict::denied);
    EXPECT_EQ(Concurrency::room(after, kept, now).remaining, 0);
    for (int left = 0; left < 3; ++left) {
      EXPECT_EQ(step<Concurrency>(after, kept, {now, 1, {}}).verdict, Verdict::denied);
      EXPECT_EQ(Concurrency::leave(after, kept, now, PermitId{10 + left}), 1);
    }
    EXPECT_EQ(step<Concurrency>(after, kept, {now, 1, {}}).verdict, Verdict::granted);
  }
  EXPECT_EQ(inherit<Concurrency>({before, state, now}, {after, now}, Inherit::reset),
            Concurrency::State{});
}

TEST(Permits, ThatAreWithdrawnLeaveTheirPlacesFree) {
  const auto config = at_once({4, Span{10}});
  Concurrency::State state;
  (void)step<Concurrency>(config, state, {Instant{Span{5}}, 1, {}});
  (void)step<Concurrency>(config, state, {Instant{Span{5}}, 2, {}});
  (void)step<Concurrency>(config, state, {Instant{Span{6}}, 1, {}});
  const Instant now{Span{7}};
  const auto left = [&] { return Concurrency::room(config, state, now).remaining; };
  EXPECT_EQ(left(), 0);
  Concurrency::withdraw(config, state, now, {2, Instant{Span{5}}});
  EXPECT_EQ(left(), 2);
  Concurrency::withdraw(config, state, now, {2, Instant{Span{5}}});
  EXPECT_EQ(left(), 2);
  Concurrency::withdraw(config, state, now, {1, Instant{Span{6}}});
  EXPECT_EQ(left(), 3);
  EXPECT_EQ(Concurrency::leave(config, state, now, PermitId{5}), 1);
  EXPECT_EQ(left(), 4);
}

TEST(Permits, OfSeveralLimitsGiveBackTheirPlaceAndNotTheRate) {
  const Limit limit = Limit::parse("3/1h & concurrency 1/30s").value();
  using Machine = Limit::Machine;
  const auto& config = limit.config();
  Limit::State state;
  Instant now{std::chrono::seconds{1'795'000'000}};
  for (int call = 0; call < 3; ++call) {
    const Request request{now, 1, {}};
    const Decision decision = step<Machine>(config, state, request);
    ASSERT_EQ(decision.verdict, Verdict::granted);
    const Grant grant = grant_of<Machine>(config, state, request, decision);
    const PermitId permit = Concurrency::permit_of(grant.marks.at(limit.permit_term().value()));
    const Decision second = peek<Machine>(config, state, request);
    EXPECT_EQ(second.verdict, Verdict::denied);
    EXPECT_EQ(Machine::renew(config, state, now + Span{5}, permit), std::chrono::seconds{30});
    EXPECT_EQ(Machine::leave(config, state, now + Span{5}, permit), 1);
    EXPECT_EQ(Machine::leave(config, state, now + Span{5}, permit), 0);
    now += Span{10};
  }
  EXPECT_EQ(peek<Machine>(config, state, {now, 1, {}}).verdict, Verdict::denied);
}

TEST(Permits, OfALimitThatHandsOutNoneGiveNothingBack) {
  for (const char* text : {"5/1s", "leaky-bucket 5/1s & sliding-log 3/1s", "5/1s block 1m"}) {
    const Limit limit = Limit::parse(text).value();
    Limit::State state;
    (void)step<Limit::Machine>(limit.config(), state, {Instant{Span{9}}, 1, {}});
    EXPECT_FALSE(limit.permit_term());
    EXPECT_EQ(Limit::Machine::leave(limit.config(), state, Instant{Span{9}}, PermitId{9}), 0);
    EXPECT_EQ(Limit::Machine::renew(limit.config(), state, Instant{Span{9}}, PermitId{9}), Span{0});
  }
}

TEST(Permits, ManyAtOneInstantAreAllDifferent) {
  const auto config = at_once({1, Span{10}});
  Concurrency::State state;
  const Instant now{Span{500}};
  std::set<PermitId> given;
  for (int call = 0; call < 100; ++call) {
    ASSERT_EQ(step<Concurrency>(config, state, {now, 1, {}}).verdict, Verdict::granted);
    EXPECT_TRUE(given.insert(state.latest()).second);
    EXPECT_EQ(Concurrency::leave(config, state, now, state.latest()), 1);
  }
  // The numbers have run ahead of the time, so the state is kept until it has caught up.
  EXPECT_EQ(Concurrency::fresh_at(config, state), Instant{Span{600}});
}

}  // namespace
}  // namespace weir::law
