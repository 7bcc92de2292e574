// Permits from the table: those who share states with others, and states that are dropped.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "weir/local/table.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using std::string;

constexpr Instant start{std::chrono::seconds{1'750'000'000}};

/// A table whose keys all stand under one limit that hands out permits.
class PermitTable {
 public:
  PermitTable(const char* limit, const Table::Settings& settings)
      : table_(settings), rule_(rules_.find(limit).value()) {}

  struct Entered {
    Verdict verdict;
    PermitId permit = PermitId::none;
    bool shared = false;
  };
  Entered enter(std::string_view key, Instant now, Cost weight = 1) {
    Grant grant;
    const Answer answer = table_.take({rule_, key}, {now, weight, {}}, &grant);
    const FineInstant& mark = grant.marks.at(rule_->limit.permit_term().value());
    return {answer.decision.verdict, Concurrency::permit_of(mark), answer.shared};
  }
  Cost leave(std::string_view key, Instant now, PermitId permit) {
    return table_.leave({rule_, key}, now, permit);
  }
  Span renew(std::string_view key, Instant now, PermitId permit) {
    return table_.renew({rule_, key}, now, permit);
  }
  Table& table() { return table_; }
  Span lease() const { return rule_->limit.terms()[*rule_->limit.permit_term()].period; }

 private:
  Rules rules_;
  Table table_;
  const Rule* rule_;
};

TEST(TablePermits, AreGivenBackOnceAndEndWithTheirLeases) {
  PermitTable table("concurrency 2/30s", {.hash_key = {1, 2}});
  const auto one = table.enter("k", start);
  const auto two = table.enter("k", start);
  EXPECT_EQ(two.verdict, Verdict::granted);
  EXPECT_EQ(table.enter("k", start).verdict, Verdict::denied);
  EXPECT_EQ(table.leave("other", start, one.permit), 0);
  EXPECT_EQ(table.leave("k", start + 1s, one.permit), 1);
  EXPECT_EQ(table.leave("k", start + 1s, one.permit), 0);
  EXPECT_EQ(table.renew("k", start + 1s, one.permit), 0s);
  EXPECT_EQ(table.enter("k", start + 1s).verdict, Verdict::granted);
  EXPECT_EQ(table.renew("k", start + 20s, two.permit), 30s);
  EXPECT_EQ(table.enter("k", start + 31s).verdict, Verdict::granted);
  EXPECT_EQ(table.enter("k", start + 31s).verdict, Verdict::denied);
  EXPECT_EQ(table.leave("k", start + 50s, two.permit), 0);
}

TEST(TablePermits, OfAStateThatWasDroppedAreNeverGivenAgain) {
  PermitTable table("concurrency 3/20us", {.shards = 1, .hash_key = {1, 2}});
  std::mt19937_64 random(3);
  std::set<PermitId> given;
  Instant now = start;
  for (int call = 0; call < 20'000; ++call) {
    now += Span{static_cast<std::int64_t>(random() % 3 == 0 ? random() % 3 : 0)};
    if (random() % 20 == 0) now += Span{static_cast<std::int64_t>(random() % 40)};
    table.table().sweep(now, 64);
    const auto entered = table.enter("k", now);
    if (entered.verdict == Verdict::granted) {
      ASSERT_TRUE(given.insert(entered.permit).second);
      const bool leaves = random() % 60 > 0;
      ASSERT_EQ(leaves ? table.leave("k", now, entered.permit) : 1, 1);
    }
  }
  EXPECT_GT(given.size(), 1'000u);
  EXPECT_GT(table.table().stats().dropped, 100u);
}

/// Who is inside, as the holders of the permits know it.
struct Holder {
  PermitId permit;
  Cost weight;
  Instant until;
};

TEST(TablePermits, NeverLetAKeyHaveMoreInsideThoughItsStateIsShared) {
  std::mt19937_64 random(9);
  const auto below = [&](std::int64_t end) {
    return std::uniform_int_distribution<std::int64_t>(0, end - 1)(random);
  };
  for (int schedule = 0; schedule < 20; ++schedule) {
    // So little memory that few states are shared, by many.
    PermitTable table("concurrency 4/10ms",
                      {.max_keys = 3, .max_bytes = 3'000, .shards = 1, .hash_key = {1, 2}});
    std::map<string, std::vector<Holder>> inside;
    Instant now = start;
    std::size_t shared = 0;
    std::size_t back = 0;
    for (int event = 0; event < 4'000; ++event) {
      now += Span{below(4) == 0 ? below(1'500) : 0};
      if (below(300) == 0) now += 30ms;  // all leases end, and keys get states of their own
      const string key(1, static_cast<char>('a' + below(12)));
      auto& holders = inside[key];
      std::erase_if(holders, [&](const Holder& each) { return each.until <= now; });
      const std::int64_t kind = below(4);
      if (kind < 2 || holders.empty()) {
        const Cost weight = 1 + (below(4) == 0 ? below(4) : 0);
        const auto entered = table.enter(key, now, weight);
        if (entered.verdict != Verdict::granted) continue;
        shared += entered.shared ? 1 : 0;
        const PermitId permit = entered.shared ? PermitId::none : entered.permit;
        holders.push_back({permit, weight, now + table.lease()});
        Cost sum = 0;
        for (const Holder& each : holders) sum += each.weight;
        ASSERT_LE(sum, 4) << "event " << event;
      } else {
        const auto at = static_cast<std::size_t>(below(static_cast<std::int64_t>(holders.size())));
        Holder& holder = holders[at];
        if (kind == 2) {
          const Span left = table.renew(key, now, holder.permit);
          ASSERT_EQ(left > Span{0}, holder.permit != PermitId::none);
          if (left > Span{0}) holder.until = now + left;
        } else {
          const Cost units = table.leave(key, now, holder.permit);
          ASSERT_EQ(units, holder.permit == PermitId::none ? 0 : holder.weight);
          back += static_cast<std::size_t>(units);
          holders.erase(holders.begin() + static_cast<std::ptrdiff_t>(at));
        }
      }
    }
    EXPECT_GT(shared, 100u);
    EXPECT_GT(back, 50u);
  }
}

}  // namespace
}  // namespace weir
