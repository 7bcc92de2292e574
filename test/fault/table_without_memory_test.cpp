// Memory runs out in the middle of everything that the table, the grammar and the rules do.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

#include "test/fault/each_allocation.hpp"
#include "weir/local/table.hpp"

namespace weir {
namespace {

using std::string;

constexpr Instant start{std::chrono::seconds{1'795'000'000}};
constexpr const char* every_machine[] = {"5/1h",
                                         "leaky-bucket 5/1h queue 3",
                                         "fixed-window 5/1h",
                                         "sliding-window 5/1h",
                                         "sliding-log 5/1h",
                                         "concurrency 5/1h",
                                         "5/1h block 2h",
                                         "5/1h & sliding-log 4/1h & 7/1d"};

class WithoutMemory : public testing::TestWithParam<const char*> {
 protected:
  void make(std::size_t max_keys = 1000) {
    table_ = std::make_unique<Table>(
        Table::Settings{.max_keys = max_keys, .shards = 4, .hash_key = {1, 2}});
    admitted_ = 0;
  }

  void count(const Answer& answer) { admitted_ += taken(answer.decision.verdict) ? 1 : 0; }

  /// Whatever failed: the key still gets what is left of its burst, and no more.
  void expect_the_bound(const string& key) {
    for (int call = 0; call < 20; ++call) count(table_->take({rule_, key}, {start, 1, Span{0}}));
    EXPECT_LE(admitted_, Limit::Machine::bound(rule_->limit.config(), Span{1}, 1));
  }

  /// Nothing is kept that nobody can reach, and no room is set aside for nobody.
  void expect_empty_after_sweep() {
    const Instant much_later = start + std::chrono::hours(24 * 365);
    for (int turn = 0; turn < 40; ++turn) table_->sweep(much_later, 1000);
    EXPECT_EQ(table_->stats().keys, 0u);
    make_room_is_whole();
  }

  /// All the room that there is can be taken again: what is counted as taken is what is kept.
  void make_room_is_whole() {
    const Instant later = start + std::chrono::hours(24 * 400);
    const std::size_t before = table_->stats().shared_answers;
    for (std::size_t key = 0; key < room_; ++key) {
      (void)table_->take({rule_, "room" + std::to_string(key)}, {later});
    }
    EXPECT_EQ(table_->stats().shared_answers, before);
    EXPECT_EQ(table_->stats().keys, room_);
  }

  Rules rules_;
  const Rule* rule_ = rules_.find(GetParam()).value();
  std::unique_ptr<Table> table_;
  Cost admitted_ = 0;
  std::size_t room_ = 1000;
};

TEST_P(WithoutMemory, ATakeOfANewKeyIsMadeOrLeavesNothing) {
  const string key(100, 'k');
  const std::int64_t met =
      test::each_allocation_fails([&] { make(); },
                                  [&] {
                                    count(table_->take({rule_, key}, {start, 1, Span{0}}));
                                  },
                                  [&](bool threw) {
                                    EXPECT_EQ(table_->stats().keys, threw ? 0u : 1u);
                                    expect_the_bound(key);
                                    expect_empty_after_sweep();
                                  });
  EXPECT_GE(met, 2);
}

TEST_P(WithoutMemory, ATakeOfAKnownKeyIsMadeOrLeavesItAsItWas) {
  const string key(100, 'k');
  Decision before{};
  test::each_allocation_fails(
      [&] {
        make();
        count(table_->take({rule_, key}, {start, 1, Span{0}}));
        before = table_->peek({rule_, key}, {start, 1, Span{0}}).decision;
      },
      [&] {
        count(table_->take({rule_, key}, {start, 3, {}}));
      },
      [&](bool threw) {
        if (threw) {
          EXPECT_EQ(table_->peek({rule_, key}, {start, 1, Span{0}}).decision, before);
        }
        expect_empty_after_sweep();
      });
}

TEST_P(WithoutMemory, ATakeFromAFullTableIsMadeOrRefused) {
  room_ = 1;
  const std::int64_t met = test::each_allocation_fails(
      [&] {
        make(1);
        (void)table_->take({rule_, "first"}, {start});
      },
      [&] {
        for (int call = 0; call < 3; ++call)
          count(table_->take({rule_, "next"}, {start, 1, Span{0}}));
      },
      [&](bool) {
        expect_the_bound("next");
        EXPECT_EQ(table_->stats().keys, 1u);
      });
  EXPECT_GE(met, 1);
}

// A key that comes from the shared states takes a copy of its debt along.
TEST_P(WithoutMemory, AKeyThatGetsItsOwnStateKeepsWhatItOwed) {
  const string key(100, 'k');
  test::each_allocation_fails(
      [&] {
        make(1);
        (void)table_->take({rule_, "first"}, {start});
        for (int call = 0; call < 2; ++call) count(table_->take({rule_, key}, {start, 1, Span{0}}));
        (void)table_->reset({rule_, "first"});
      },
      [&] {
        count(table_->take({rule_, key}, {start, 1, Span{0}}));
      },
      [&](bool threw) {
        EXPECT_LE(table_->stats().keys, threw ? 0u : 1u);
        expect_the_bound(key);
      });
}

TEST_P(WithoutMemory, ATakeFromSeveralKeysSetsNoRoomAsideForNobody) {
  const std::array<string, 3> keys{string(40, 'a'), string(40, 'b'), string(40, 'c')};
  const std::int64_t met = test::each_allocation_fails(
      [&] {
        make();
        count(table_->take({rule_, keys[1]}, {start, 1, Span{0}}));
      },
      [&] {
        const std::array<Claim, 3> claims{Claim{{rule_, keys[0]}}, Claim{{rule_, keys[1]}},
                                          Claim{{rule_, keys[2]}}};
        admitted_ += taken(table_->take_all(claims, {start, 1, Span{0}}).decision.verdict) ? 1 : 0;
      },
      [&](bool) {
        expect_the_bound(keys[1]);
        expect_empty_after_sweep();
      });
  EXPECT_GE(met, 3);
}

TEST_P(WithoutMemory, ATakeFromSeveralKeysOfAFullTableToo) {
  room_ = 1;
  test::each_allocation_fails(
      [&] { make(1); },
      [&] {
        const std::array<Claim, 2> claims{Claim{{rule_, "a"}}, Claim{{rule_, "b"}}};
        (void)table_->take_all(claims, {start, 1, Span{0}});
      },
      [&](bool) {
        const Instant much_later = start + std::chrono::hours(24 * 365);
        for (int turn = 0; turn < 40; ++turn) table_->sweep(much_later, 1000);
        EXPECT_EQ(table_->stats().keys, 0u);
      });
}

TEST_P(WithoutMemory, ARestoredStateIsKeptOrNot) {
  const string key(100, 'k');
  test::each_allocation_fails(
      [&] { make(); },
      [&] {
        Limit::State state;
        (void)step<Limit::Machine>(rule_->limit.config(), state, {start, 3, {}});
        (void)table_->restore({rule_, key}, std::move(state), start);
      },
      [&](bool threw) {
        EXPECT_EQ(table_->stats().keys, threw ? 0u : 1u);
        expect_empty_after_sweep();
      });
}

TEST_P(WithoutMemory, WhatIsGivenBackAndForgottenNeedsNone) {
  const std::int64_t met = test::each_allocation_fails(
      [&] {
        make();
        (void)table_->take({rule_, "k"}, {start});
      },
      [&] {
        (void)table_->refund({rule_, "k"}, start, 1);
        (void)table_->reset({rule_, "k"});
        table_->sweep(start, 1000);
      },
      [&](bool threw) {
        EXPECT_FALSE(threw);
        EXPECT_EQ(table_->stats().keys, 0u);
      });
  EXPECT_EQ(met, 0);
}

TEST_P(WithoutMemory, ALimitIsReadOrNot) {
  const std::int64_t met =
      test::each_allocation_fails([] {}, [&] { (void)Limit::parse(GetParam()); },
                                  [&](bool) { EXPECT_TRUE(Limit::parse(GetParam())); });
  EXPECT_GE(met, 1);
}

TEST_P(WithoutMemory, ARuleIsKnownOrNot) {
  std::unique_ptr<Rules> rules;
  const std::int64_t met = test::each_allocation_fails(
      [&] { rules = std::make_unique<Rules>(); },
      [&] {
        (void)rules->add({"a-name-that-is-too-long-for-a-short-string", GetParam()});
        (void)rules->find(GetParam());
      },
      [&](bool) {
        // What was not added can be added now; nothing is half known.
        (void)rules->add({"a-name-that-is-too-long-for-a-short-string", GetParam()});
        const auto named = rules->find("@a-name-that-is-too-long-for-a-short-string");
        ASSERT_TRUE(named);
        const auto found = rules->find(GetParam());
        ASSERT_TRUE(found);
        EXPECT_NE(*named, *found);
        EXPECT_EQ(rules->named().size(), 1u);
        EXPECT_EQ(rules->size(), 3u);
      });
  EXPECT_GE(met, 5);
}

INSTANTIATE_TEST_SUITE_P(Every, WithoutMemory, testing::ValuesIn(every_machine),
                         [](const auto& test) { return "Machine" + std::to_string(test.index); });

}  // namespace
}  // namespace weir
