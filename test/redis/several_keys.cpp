#include "test/redis/several_keys.hpp"

#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "redis/limit_config.hpp"
#include "redis/stored_form.hpp"
#include "redis/stored_key.hpp"
#include "test/redis/joint_twin.hpp"
#include "test/redis/script_host.hpp"

namespace weir::redis {
namespace {

using Machine = Limit::Machine;

constexpr const char* limit_texts[] = {
    "5/1s",
    "3/7ms burst 4",
    "leaky-bucket 10/1s queue 5",
    "fixed-window 4/500ms",
    "sliding-window 8/1s parts 4",
    "sliding-log 6/1s",
    "sliding-log 200/3s",
    "concurrency 5/300ms",
    "6/1s block 200ms",
    "sliding-window 8/1s parts 4 & 20/1m",
    "concurrency 4/2s block 300ms & 10/1s & fixed-window 30/1m",
};
constexpr std::size_t limit_count = std::size(limit_texts);
constexpr const char* users[] = {"ada", "", "{tag}:bob"};
constexpr int events = 400;

/// How the store's clock goes.
enum class ClockGoes : std::uint8_t {
  on,       ///< never back, as the table's
  anywhere  ///< and is set back now and then
};

/// How much was compared, so that a test can see that it was not for nothing.
struct Compared {
  std::size_t requests = 0;
  std::size_t verdicts[4] = {};
  std::size_t given_back = 0;
  std::size_t renewed = 0;
  std::size_t states = 0;
};

/// A user under a limit, by their numbers.
struct Who {
  std::size_t user;
  std::size_t limit;
  auto operator<=>(const Who&) const = default;
};

struct Held {
  Who who;
  Grant grant;
  std::vector<std::int64_t> marks;  ///< as the script told them
};

class Schedule {
 public:
  Schedule(ScriptStore& store, ClockGoes clock, std::uint64_t seed, Compared& compared)
      : store_(store), clock_(clock), random_(seed), compared_(compared) {
    for (const char* text : limit_texts) limits_.push_back(Limit::of(text));
    for (const Limit& limit : limits_) rules_of_.push_back(rules_.find(limit.text()).value());
    if (clock == ClockGoes::anywhere && seed % 3 == 0) slack_ = Span{20'000};
    // Before the first instant of this schedule whatever earlier ones left is gone.
    now_ += Span{static_cast<std::int64_t>(seed) * 4'000'000'000};
    latest_ = now_;
  }

  void event() {
    pass_time();
    store_.set_time(now_);
    const std::size_t kind = below(20);
    if (kind < 12) {
      request(ScriptVerb::take);
    } else if (kind < 13) {
      request(ScriptVerb::peek);
    } else if (kind < 15) {
      give_back(ScriptVerb::cancel);
    } else if (kind < 17) {
      give_back(ScriptVerb::release);
    } else if (kind < 18) {
      give_back(ScriptVerb::renew);
    } else {
      refund();
    }
  }

 private:
  std::size_t below(std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_);
  }
  Span up_to(std::int64_t end) {
    return Span{static_cast<std::int64_t>(below(static_cast<std::size_t>(end)))};
  }

  void pass_time() {
    const std::size_t kind = below(24);
    if (kind < 6) now_ += up_to(kind < 3 ? 3 : 30'000);
    if (kind == 6) now_ += up_to(900'000);
    if (kind == 7 || kind == 8) now_ = std::max(now_, interesting_ - Span{1} + up_to(3));
    if (kind == 9 && clock_ == ClockGoes::anywhere) {
      now_ -= up_to(below(2) == 0 ? 100'000 : 90'000'000);
    }
    latest_ = std::max(latest_, now_);
  }

  const Limit& limit(const Who& who) const { return limits_[who.limit]; }
  std::string config(const Who& who) const { return config_text(limit(who), slack_).value(); }
  std::string key(const Who& who) const { return stored_key({users[who.user], limit(who).text()}); }
  Subject subject(const Who& who) const { return {rules_of_[who.limit], users[who.user]}; }
  /// The least of all: that of the config text is raised to what a queue needs.
  Span slack(const Who& who) const {
    return std::max(slack_, Machine::own_wait(limit(who).config(), 1).value_or(Span{0}));
  }

  /// What is kept of the key, as the machine has it. A Redis also drops keys that nobody asks for:
  /// under a clock that is set back it may have done so, or not.
  Limit::State& found(const Who& who) {
    Limit::State& state = states_[who];
    if (!store_.get(key(who))) {
      EXPECT_LE(Machine::fresh_at(limit(who).config(), state), latest_) << "a key that died early";
      state = {};
    }
    return state;
  }
  Limit::State settled(const Who& who) {
    Limit::State state = found(who);
    Machine::settle(limit(who).config(), state, now_, slack(who));
    return state;
  }

  /// What the script has written is what the machine has become.
  void look(const Who& who, const Limit::State& before, const Limit::State& after) {
    if (after != before) states_[who] = after;
    const Limit::State& right = states_[who];
    const auto kept = store_.get(key(who));
    ++compared_.states;
    const Instant fresh_at = Machine::fresh_at(limit(who).config(), right);
    if (!kept) {
      EXPECT_LE(fresh_at, now_) << "nothing is kept";
      return;
    }
    EXPECT_EQ(read_stored(*kept), right) << limit(who).text();
    const auto left = store_.expires_in_ms(key(who));
    ASSERT_TRUE(left) << "an immortal key";
    if (after != before) {
      EXPECT_EQ(*left, store_.kept_for_ms(now_, fresh_at));
    }
  }

  ScriptReply call(ScriptVerb verb, const std::vector<Who>& whom,
                   const std::vector<std::string>& rest) {
    std::vector<std::string> keys, arguments;
    char letter = machine_letter(limit(whom[0]));
    for (const Who& who : whom) {
      keys.push_back(key(who));
      arguments.push_back(config(who));
      if (machine_letter(limit(who)) != letter) letter = 'm';
    }
    arguments.insert(arguments.end(), rest.begin(), rest.end());
    ScriptReply reply = store_.call({verb, letter, std::move(keys), std::move(arguments)});
    EXPECT_EQ(reply.error, "");
    return reply;
  }

  void request(ScriptVerb verb) {
    std::vector<Who> whom;
    std::vector<Cost> costs;
    for (std::size_t left = 1 + below(5); left > 0; --left) {
      whom.push_back({below(std::size(users)), below(limit_count)});
      costs.push_back(below(40) == 0 ? 9 : static_cast<Cost>(below(3)));
    }
    Request asked{now_, 1, {}};
    if (below(2) == 0) asked.patience = below(3) == 0 ? Span{0} : up_to(400'000);

    std::vector<TwinPlace> places;
    std::vector<std::size_t> place_of;
    std::map<Who, std::size_t> known;
    Span slack = longest_span;
    for (std::size_t at = 0; at < whom.size(); ++at) {
      const auto [same, added] = known.try_emplace(whom[at], places.size());
      if (added) places.push_back({&limit(whom[at]), 0, settled(whom[at]), at});
      place_of.push_back(same->second);
      places[same->second].cost += costs[at];
      slack = std::min(slack, this->slack(whom[at]));
    }
    const std::vector<TwinPlace> before = places;
    JointTwin twin(places, asked, slack);
    const JointAnswer right = verb == ScriptVerb::take ? twin.take() : twin.peek();

    std::vector<std::string> rest;
    rest.reserve(costs.size() + 1);
    for (const Cost cost : costs) rest.push_back(std::to_string(cost));
    rest.push_back(patience_text(asked));
    const auto told = call(verb, whom, rest).integers;
    compare(told, right);
    if (clock_ == ClockGoes::on && verb == ScriptVerb::take) ask_table(whom, costs, asked, told);
    if (testing::Test::HasFailure()) return;

    std::size_t mark = 7;
    for (std::size_t at = 0; at < whom.size(); ++at) {
      const TwinPlace& place = places[place_of[at]];
      Grant grant;
      note_grant<Machine>(place.config(), place.state, costs[at], right.decision, grant);
      grant.turn = Turn::joint;
      Held held{whom[at], grant, {}};
      for (std::size_t term = 0; term < limit(whom[at]).terms().size(); ++term, mark += 2) {
        const FineInstant right_mark = grant.marks.at(term);
        EXPECT_EQ(told_instant(told.at(mark)), right_mark.whole);
        EXPECT_EQ(told.at(mark + 1), right_mark.rest);
        held.marks.insert(held.marks.end(), {told.at(mark), told.at(mark + 1)});
      }
      if (verb == ScriptVerb::take && taken(right.decision.verdict) && costs[at] > 0) {
        held_.push_back(std::move(held));
      }
    }
    EXPECT_EQ(mark, told.size());
    // Who takes keeps what settle() gave, also where that is refused.
    for (const auto& [who, place] : known) {
      const Limit::State kept = states_[who];
      look(who, verb == ScriptVerb::take ? kept : before[place].state, places[place].state);
    }
    ++compared_.requests;
    ++compared_.verdicts[static_cast<std::size_t>(right.decision.verdict)];
    if (right.decision.verdict != Verdict::impossible) interesting_ = right.decision.ready_at;
  }

  void compare(const std::vector<std::int64_t>& told, const JointAnswer& right) {
    ASSERT_GE(told.size(), 9u);
    EXPECT_EQ(told_decision(told), right.decision);
    EXPECT_EQ(told[1], now_.time_since_epoch().count());
    EXPECT_EQ(told[6], static_cast<std::int64_t>(right.binding));
  }

  void ask_table(const std::vector<Who>& whom, const std::vector<Cost>& costs, const Request& asked,
                 const std::vector<std::int64_t>& told) {
    std::vector<Claim> claims;
    for (std::size_t at = 0; at < whom.size(); ++at) {
      claims.push_back({subject(whom[at]), costs[at]});
    }
    compare(told, table_.take_all(claims, asked));
  }

  /// One of the newest, maybe of one that was given back before; those who ask for a permit mostly
  /// have one.
  const Held& some_grant(ScriptVerb verb) {
    while (true) {
      const Held& held = held_[held_.size() - 1 - below(std::min<std::size_t>(held_.size(), 12))];
      const bool fits = verb == ScriptVerb::cancel || limit(held.who).permit_term();
      if (fits || below(12) == 0) return held;
    }
  }

  void give_back(ScriptVerb verb) {
    if (held_.empty()) return;
    const Held& held = some_grant(verb);
    const Machine::Config& config = limit(held.who).config();
    const Limit::State before = settled(held.who);
    Limit::State after = before;
    std::vector<std::string> rest;
    std::int64_t right = 0;
    std::int64_t of_table = 0;
    if (verb == ScriptVerb::cancel) {
      rest = {std::to_string(held.grant.cost),
              std::to_string(held.grant.acts_at.time_since_epoch().count())};
      for (const std::int64_t mark : held.marks) rest.push_back(std::to_string(mark));
      right = weir::cancel<Machine>(config, after, now_, held.grant);
      of_table = table_.cancel(subject(held.who), now_, held.grant);
    } else {
      const auto term = limit(held.who).permit_term();
      const PermitId permit =
          term ? Concurrency::permit_of(held.grant.marks.at(*term)) : PermitId{1};
      rest = {permit_text(permit)};
      if (verb == ScriptVerb::release) {
        right = Machine::leave(config, after, now_, permit);
        of_table = table_.leave(subject(held.who), now_, permit);
      } else {
        right = Machine::renew(config, after, now_, permit).count();
        of_table = table_.renew(subject(held.who), now_, permit).count();
        if (right > 0) ++compared_.renewed;
      }
    }
    if (clock_ == ClockGoes::anywhere) of_table = right;
    compare_back(call(verb, {held.who}, rest), right, of_table);
    look(held.who, before, after);
  }

  void refund() {
    const Who who{below(std::size(users)), below(limit_count)};
    const Cost units = 1 + static_cast<Cost>(below(4));
    const Limit::State before = settled(who);
    Limit::State after = before;
    const Cost right = Machine::refund(limit(who).config(), after, now_, units);
    const Cost of_table =
        clock_ == ClockGoes::on ? table_.refund(subject(who), now_, units) : right;
    compare_back(call(ScriptVerb::refund, {who}, {std::to_string(units)}), right, of_table);
    look(who, before, after);
  }

  void compare_back(const ScriptReply& told, std::int64_t right, std::int64_t of_table) {
    ASSERT_EQ(told.integers.size(), 1u);
    EXPECT_EQ(told.integers[0], right);
    EXPECT_EQ(of_table, right);
    if (right > 0) ++compared_.given_back;
  }

  ScriptStore& store_;
  ClockGoes clock_;
  std::mt19937_64 random_;
  Compared& compared_;
  std::vector<Limit> limits_;
  Rules rules_;
  std::vector<const Rule*> rules_of_;
  Table table_{{.hash_key = {1, 2}}};
  Span slack_ = usual_slack;
  Instant now_{std::chrono::seconds{1'750'000'000}};
  Instant latest_;
  Instant interesting_{};
  std::map<Who, Limit::State> states_;
  std::vector<Held> held_;
};

}  // namespace

void expect_equal_over_several_keys(ScriptStore& store, std::size_t schedules) {
  Compared compared;
  for (std::uint64_t seed = 1; seed <= schedules; ++seed) {
    Schedule schedule(store, seed % 2 == 0 ? ClockGoes::on : ClockGoes::anywhere, seed, compared);
    for (int event = 0; event < events; ++event) {
      schedule.event();
      ASSERT_FALSE(testing::Test::HasFailure())
          << store.name() << ", seed " << seed << ", event " << event;
    }
  }
  EXPECT_GT(compared.given_back, 20 * schedules);
  EXPECT_GT(compared.renewed, schedules / 2);
  for (const std::size_t verdict : compared.verdicts) EXPECT_GT(verdict, schedules);
  std::cout << compared.requests << " requests over several keys: " << compared.verdicts[0]
            << " granted, " << compared.verdicts[1] << " deferred, " << compared.verdicts[2]
            << " denied, " << compared.verdicts[3] << " impossible; " << compared.given_back
            << " times something was given back, " << compared.renewed << " leases renewed, "
            << compared.states << " states\n";
}

}  // namespace weir::redis
