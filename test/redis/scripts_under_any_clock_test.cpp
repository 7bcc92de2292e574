// The scripts against the machines where the tester of hosts does not go: clocks that are set back,
// numbers at the edge of what a double holds, logs in a ring.
#include <gtest/gtest.h>

#include <random>

#include "redis/limit_config.hpp"
#include "redis/stored_form.hpp"
#include "test/redis/lua_store.hpp"
#include "test/redis/script_host.hpp"

namespace weir::redis {
namespace {

using Machine = Limit::Machine;

const char* const limits_at_edges[] = {
    "5/1s",
    "3/7ms burst 4",
    "1000000000/1s burst 1000000000000",
    "1/1us burst 1125899906842624",
    "999983/999979us burst 9007388000",
    "7/1125899906842624us",
    "1125899906842623/1125899906842624us burst 7",
    "leaky-bucket 7/3ms queue 20",
    "leaky-bucket 999983/999979us queue 9007387999",
    "fixed-window 3/100ms",
    "fixed-window 1125899906842624/1125899906842624us",
    "sliding-window 6/70ms parts 3",
    "sliding-window 1125899906842624/1s parts 1024",
    "sliding-log 3/100ms",
    "sliding-log 128/1s",
    "sliding-log 129/1s",
    "sliding-log 1000/50ms",
    "concurrency 3/100ms",
    "concurrency 40/1s",
    "concurrency 10000/1125899906842624us",
    "calendar-window 300/minute",
    "calendar-window 9/hour zone Australia/Lord_Howe",
    "calendar-window 1125899906842624/month zone Africa/Casablanca block 1s",
    "leaky-bucket 10/1s queue 3 block 50ms",
    "concurrency 4/2s block 300ms & 10/1s",
    "7/1s burst 2 block 100ms & fixed-window 5/1s & sliding-log 200/3s block 1s",
    "sliding-window 9/1s parts 3 & leaky-bucket 7/3ms queue 6",
};

/// One key under one limit, or one whose numbers change, in the store and as a machine.
class Pair {
 public:
  Pair(const std::vector<Limit>& limits, Span slack, Instant now, std::uint64_t seed)
      : limits_(limits), slack_(slack), now_(now), random_(seed) {
    for (const Limit& limit : limits) {
      const auto own = Machine::own_wait(limit.config(), 1);
      if (own) slack_ = std::max(slack_, *own);
    }
  }

  void event() {
    pass_time();
    store_.set_time(now_);
    if (limits_.size() > 1 && below(8) == 0) {
      limit_ = (limit_ + 1) % limits_.size();
      marks_.clear();
    }
    const auto kept = store_.get("k");
    if (!kept) {
      // Under new numbers it may: it expires by those that it was written under.
      if (limits_.size() == 1) {
        ASSERT_LE(Machine::fresh_at(config(), state_), now_) << "a key that died early";
      }
      state_ = {};
    }
    settled_ = state_;
    Machine::settle(config(), settled_, now_, slack_);
    asked_ = settled_;
    const std::size_t writes = store_.writes();
    const std::int64_t kind = below(limit().permit_term() ? 13 : 10);
    if (kind >= 10) {
      show_permit();
    } else if (kind < 6) {
      take(ScriptVerb::take);
    } else if (kind < 7) {
      take(ScriptVerb::peek);
    } else if (kind < 9) {
      cancel();
    } else {
      refund();
    }
    // What settle() gave is kept by whoever takes, also where that is refused.
    const bool keeps_settled = kind < 6 && settled_ != state_;
    if (asked_ == settled_ && !keeps_settled) {
      EXPECT_EQ(store_.writes(), writes) << "nothing changed, and yet it was written";
      EXPECT_EQ(store_.get("k"), kept);
      return;
    }
    state_ = asked_;
    // What was left by other numbers is written by the limit's own; the decisions show whether it
    // means the same.
    if (keeps_settled && limits_.size() > 1) state_ = kept_state();
    look();
  }

  std::size_t taken_count = 0;
  std::size_t given_back = 0;

 private:
  const Machine::Config& config() const { return limit().config(); }
  const Limit& limit() const { return limits_[limit_]; }
  std::int64_t below(std::int64_t end) {
    return std::uniform_int_distribution<std::int64_t>(0, end - 1)(random_);
  }

  void pass_time() {
    const std::int64_t kind = below(16);
    if (kind < 5) return;
    if (kind < 8) {
      now_ += Span{below(3)};
    } else if (kind < 11) {
      now_ += Span{below(40'000)};
    } else if (kind < 14) {
      now_ = std::clamp(interesting_ + Span{below(3) - 1}, now_ - Span{5'000'000},
                        now_ + Span{5'000'000});
    } else if (kind == 14) {
      now_ += Span{below(3'000'000)};
    } else {
      now_ -= Span{below(below(2) == 0 ? 100'000 : 200'000'000)};
    }
    now_ = std::clamp(now_, Instant{}, Instant{Span{std::int64_t{1} << 52}});
  }

  Cost some_cost() {
    const Cost capacity = Machine::capacity(config());
    switch (below(8)) {
      case 0: return 0;
      case 1: return capacity + below(2);
      case 2: return 1 + below(capacity);
      case 3: return capacity / 3;
      default: return 1;
    }
  }

  ScriptReply call(ScriptVerb verb, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), config_text(limit(), slack_).value());
    ScriptReply reply = store_.call({verb, machine_letter(limit()), {"k"}, std::move(arguments)});
    EXPECT_EQ(reply.error, "");
    return reply;
  }

  void take(ScriptVerb verb) {
    Request request{now_, some_cost(), {}};
    if (below(2) == 0) request.patience = Span{below(2) == 0 ? 0 : below(slack_.count() + 1)};
    const auto told = call(verb, {std::to_string(request.cost), patience_text(request)}).integers;
    ASSERT_GE(told.size(), 9u);
    const Decision right = verb == ScriptVerb::peek ? peek<Machine>(config(), asked_, request)
                                                    : step<Machine>(config(), asked_, request);
    const Decision decision = told_decision(told);
    EXPECT_EQ(decision.verdict, right.verdict);
    EXPECT_EQ(decision.ready_at, right.ready_at);
    EXPECT_EQ(decision.limit, right.limit);
    EXPECT_EQ(decision.remaining, right.remaining);
    EXPECT_EQ(decision.reset_at, right.reset_at);
    EXPECT_EQ(told[1], now_.time_since_epoch().count());
    const Grant grant = grant_of<Machine>(config(), asked_, request, right);
    for (std::size_t at = 7; at + 1 < told.size(); at += 2) {
      const FineInstant mark{told_instant(told[at]), told[at + 1]};
      EXPECT_EQ(mark, grant.marks[(at - 7) / 2]);
    }
    if (right.verdict != Verdict::impossible) interesting_ = right.ready_at;
    if (verb == ScriptVerb::peek || !taken(right.verdict) || request.cost == 0) return;
    ++taken_count;
    grant_ = grant;
    grant_.turn = Turn::joint;
    marks_.assign(told.begin() + 7, told.end());
    if (const auto term = limit().permit_term()) {
      permits_.push_back(Concurrency::permit_of(grant.marks.at(*term)));
    }
  }

  void cancel() {
    if (marks_.empty()) return;
    std::vector<std::string> arguments{std::to_string(grant_.cost),
                                       std::to_string(grant_.acts_at.time_since_epoch().count())};
    for (const std::int64_t mark : marks_) arguments.push_back(std::to_string(mark));
    compare(call(ScriptVerb::cancel, arguments),
            weir::cancel<Machine>(config(), asked_, now_, grant_));
    marks_.clear();
  }

  /// One of the newest, maybe of one that has left.
  void show_permit() {
    PermitId permit{below(3)};
    if (!permits_.empty() && below(20) > 0) {
      const auto size = static_cast<std::int64_t>(permits_.size());
      permit =
          permits_[static_cast<std::size_t>(size - 1 - below(std::min<std::int64_t>(size, 9)))];
    }
    if (below(2) == 0) {
      compare(call(ScriptVerb::release, {permit_text(permit)}),
              Machine::leave(config(), asked_, now_, permit));
    } else {
      compare(call(ScriptVerb::renew, {permit_text(permit)}),
              Machine::renew(config(), asked_, now_, permit).count());
    }
  }

  void refund() {
    const Cost units = below(3) == 0 ? some_cost() : 1 + below(4);
    compare(call(ScriptVerb::refund, {std::to_string(units)}),
            Machine::refund(config(), asked_, now_, units));
  }

  void compare(const ScriptReply& told, Cost right) {
    ASSERT_EQ(told.integers.size(), 1u);
    EXPECT_EQ(told.integers[0], right);
    if (right > 0) ++given_back;
  }

  Limit::State kept_state() {
    const auto kept = store_.get("k");
    return kept ? read_stored(*kept).value() : Limit::State{};
  }

  /// What is kept is the state, and for as long as it says anything.
  void look() {
    const auto kept = store_.get("k");
    const Instant fresh_at = Machine::fresh_at(config(), state_);
    if (fresh_at <= now_) {
      EXPECT_FALSE(kept);
      state_ = {};
      return;
    }
    ASSERT_TRUE(kept);
    EXPECT_EQ(read_stored(*kept), state_);
    EXPECT_EQ(store_.expires_in_ms("k"), (fresh_at - now_).count() / 1000 + 1);
  }

  const std::vector<Limit>& limits_;
  std::size_t limit_ = 0;
  Span slack_;
  Instant now_;
  std::mt19937_64 random_;
  LuaStore store_{Loaded::library};
  Limit::State state_, settled_, asked_;
  Instant interesting_{};
  Grant grant_;
  std::vector<std::int64_t> marks_;
  std::vector<PermitId> permits_;
};

class AnyClock : public testing::TestWithParam<const char*> {};

TEST_P(AnyClock, ScriptsDecideKeepAndForgetAsTheMachines) {
  const std::vector<Limit> limits{Limit::of(GetParam())};
  std::size_t taken = 0;
  std::size_t back = 0;
  std::uint64_t seed = 1;
  for (const std::int64_t start : {std::int64_t{1'000'000}, std::int64_t{1'750'000'000'000'000},
                                   (std::int64_t{1} << 52) - 10'000'000}) {
    for (const Span slack : {Span{0}, usual_slack, longest_span}) {
      for (int round = 0; round < 4; ++round) {
        Pair pair(limits, slack, Instant{Span{start}}, ++seed);
        for (int event = 0; event < 80; ++event) {
          pair.event();
          ASSERT_FALSE(testing::Test::HasFailure())
              << GetParam() << ", start " << start << ", slack " << slack.count() << ", seed "
              << seed << ", event " << event;
        }
        taken += pair.taken_count;
        back += pair.given_back;
      }
    }
  }
  EXPECT_GT(taken, 300u);
  EXPECT_GT(back, 20u);
}

INSTANTIATE_TEST_SUITE_P(Limits, AnyClock, testing::ValuesIn(limits_at_edges));

TEST(NewNumbers, FindTheStatesThatOldOnesLeft) {
  const char* const changes[][2] = {
      {"5/1s", "3/7ms burst 4"},
      {"3/7ms burst 4", "1000/7ms burst 3"},
      {"leaky-bucket 7/3ms queue 20", "leaky-bucket 5/1s queue 3"},
      {"fixed-window 9/100ms", "fixed-window 4/70ms"},
      {"sliding-window 6/70ms parts 3", "sliding-window 9/100ms parts 5"},
      {"sliding-window 6/70ms parts 3", "sliding-window 4/50ms parts 3"},
      {"sliding-log 3/100ms", "sliding-log 300/1s"},
      {"concurrency 9/100ms", "concurrency 4/70ms"},
      {"5/1s block 300ms & sliding-window 9/1s parts 3",
       "3/7ms burst 4 block 20ms & sliding-window 7/2s parts 3"},
  };
  for (const auto& [before, after] : changes) {
    const std::vector<Limit> limits{Limit::of(before), Limit::of(after)};
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
      Pair pair(limits, usual_slack, Instant{std::chrono::seconds{1'000}}, seed);
      for (int event = 0; event < 100; ++event) {
        pair.event();
        ASSERT_FALSE(testing::Test::HasFailure())
            << before << ", " << after << ", seed " << seed << ", event " << event;
      }
    }
  }
}

TEST(Permits, HaveNoNumberTwiceThoughTheirKeyExpiresInBetween) {
  LuaStore store(Loaded::library);
  const std::string limit = config_text(Limit::of("concurrency 2/700us")).value();
  std::mt19937_64 random(3);
  Instant now{std::chrono::seconds{1'750'000'000}};
  std::int64_t latest = 0;
  std::size_t begun_anew = 0;
  for (int event = 0; event < 3'000; ++event) {
    if (random() % 2 == 0) now += Span{static_cast<std::int64_t>(random() % 3)};
    if (random() % 20 == 0) now += Span{static_cast<std::int64_t>(random() % 3'000)};
    store.set_time(now);
    if (latest > 0 && !store.get("k")) ++begun_anew;
    const auto told = store.call({ScriptVerb::take, 'c', {"k"}, {limit, "1", "0"}}).integers;
    ASSERT_EQ(told.size(), 9u);
    if (told[0] != 0) continue;
    ASSERT_GT(told[7], latest) << event;
    latest = told[7];
    const std::string permit = std::to_string(latest);
    EXPECT_EQ(store.call({ScriptVerb::release, 'c', {"k"}, {limit, permit}}).integers.at(0), 1);
    EXPECT_EQ(store.call({ScriptVerb::release, 'c', {"k"}, {limit, permit}}).integers.at(0), 0);
  }
  EXPECT_GT(begun_anew, 50u);
}

/// Who never waits: each knock is refused, and would settle anew what is not kept.
TEST(AClockSetBack, LocksNobodyOutForLongerThanSettleSaysHoweverOftenTheyKnock) {
  constexpr Span slack = std::chrono::seconds{1};
  struct Bound {
    const char* limit;
    Span longest;  ///< decision 0012, with this slack
  };
  for (const auto& [text, longest] : {Bound{"5/1m", std::chrono::seconds{61}},
                                      Bound{"leaky-bucket 10/1m", std::chrono::seconds{7}},
                                      Bound{"fixed-window 3/1m", std::chrono::seconds{121}},
                                      Bound{"sliding-window 4/1m", std::chrono::seconds{67}},
                                      Bound{"sliding-log 3/1m", std::chrono::seconds{61}},
                                      Bound{"concurrency 3/1m", std::chrono::seconds{61}},
                                      Bound{"10/1m & 20/1m", std::chrono::seconds{61}}}) {
    for (const Loaded loaded : {Loaded::library, Loaded::scripts}) {
      LuaStore store(loaded);
      const Limit limit = Limit::of(text);
      Instant now{std::chrono::seconds{1'750'000'000}};
      const auto is_granted = [&] {
        store.set_time(now);
        return store
                   .call({ScriptVerb::take,
                          machine_letter(limit),
                          {"k"},
                          {config_text(limit, slack).value(), "1", "0"}})
                   .integers.at(0) == 0;
      };
      while (is_granted()) {
      }
      now -= std::chrono::hours{1};
      Span out{0};
      for (const Span knock = std::chrono::milliseconds{500}; out <= longest && !is_granted();) {
        now += knock;
        out += knock;
      }
      EXPECT_LE(out, longest) << text;
    }
  }
}

}  // namespace
}  // namespace weir::redis
