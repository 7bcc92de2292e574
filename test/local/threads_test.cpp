// The table under more threads than cores: what was admitted is counted against the promise.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "test/local/admitted.hpp"
#include "weir/local/table.hpp"

namespace weir {
namespace {

using std::string;

constexpr Instant start{std::chrono::seconds{1'750'000'000}};
constexpr std::size_t thread_count = 8;

const char* const texts[] = {"100/10ms burst 20",
                             "leaky-bucket 7/3ms queue 20",
                             "fixed-window 30/1ms",
                             "sliding-window 40/2ms",
                             "sliding-log 50/3ms",
                             "concurrency 50/3ms",
                             "100/10ms burst 5 block 100us & sliding-log 80/8ms"};

/// Hands out a microsecond a call. A thread may use its reading late, as real ones do.
class SharedClock {
 public:
  Instant now() { return start + Span{ticks_.fetch_add(1, std::memory_order_relaxed)}; }

 private:
  std::atomic<std::int64_t> ticks_{0};
};

template <typename Work>
void on_all_threads(Work&& work) {
  std::vector<std::thread> threads;
  for (std::size_t at = 0; at < thread_count; ++at) threads.emplace_back([&work, at] { work(at); });
  for (std::thread& thread : threads) thread.join();
}

class Threads : public testing::TestWithParam<const char*> {
 protected:
  Rules rules_;
  const Rule* rule_ = rules_.find(GetParam()).value();
  SharedClock clock_;
};

TEST_P(Threads, OnHotKeysAdmitNoMoreThanTheBound) {
  constexpr std::size_t calls = 2'500;
  constexpr std::size_t keys = 3;
  Table table({.shards = 2});
  std::vector<std::array<Admitted, keys>> admitted(thread_count);
  on_all_threads([&](std::size_t thread) {
    for (std::size_t call = 0; call < calls; ++call) {
      const std::size_t key = (call + thread) % keys;
      Request request{clock_.now(), 1 + static_cast<Cost>(call % 2), {}};
      if (call % 5 == 0) request.patience = Span{200};
      const Answer answer = table.take({rule_, std::to_string(key)}, request);
      if (taken(answer.decision.verdict)) {
        admitted[thread][key].add(answer.decision.ready_at, request.cost);
      }
    }
  });
  for (std::size_t key = 0; key < keys; ++key) {
    Admitted all;
    for (const auto& of_thread : admitted) all.add(of_thread[key]);
    EXPECT_LE(all.above(rule_->limit.config()), 0) << key;
    EXPECT_GE(all.units(), Limit::Machine::capacity(rule_->limit.config())) << key;
  }
}

TEST_P(Threads, OnManyKeysBeyondTheCapAdmitNoMoreThanTheBound) {
  constexpr std::size_t calls = 2'500;
  constexpr std::size_t keys = 500;
  Table table({.max_keys = 100, .shards = 8});
  std::vector<std::vector<Admitted>> admitted(thread_count, std::vector<Admitted>(keys));
  on_all_threads([&](std::size_t thread) {
    for (std::size_t call = 0; call < calls; ++call) {
      const std::size_t key = (call * (2 * thread + 1)) % keys;
      const string name = "a key of more than sixteen bytes " + std::to_string(key);
      const Answer answer = table.take({rule_, name}, {clock_.now(), 1, {}});
      if (taken(answer.decision.verdict)) admitted[thread][key].add(answer.decision.ready_at, 1);
      if (call % 64 == 0) table.sweep(clock_.now(), 64);
      if (call % 100 == 0) {
        EXPECT_LE(table.stats().keys, 100u + thread_count);
      }
    }
  });
  for (std::size_t key = 0; key < keys; ++key) {
    Admitted all;
    for (const auto& of_thread : admitted) all.add(of_thread[key]);
    EXPECT_LE(all.above(rule_->limit.config()), 0) << key;
  }
  EXPECT_LE(table.stats().keys, 100u);
}

INSTANTIATE_TEST_SUITE_P(Every, Threads, testing::ValuesIn(texts), [](const auto& test) {
  string name;
  for (const char c : string(test.param)) name += std::isalnum(c) ? c : '_';
  return name;
});

TEST(ThreadsThatTakeAll, InOppositeOrdersNeitherLockUpNorTakeHalf) {
  constexpr std::size_t calls = 2'000;
  Rules rules;
  const Rule* rule = rules.find("100/10ms burst 20").value();
  Table table({.shards = 16});
  SharedClock clock;
  std::array<std::atomic<Cost>, 2> alone{};
  std::atomic<Cost> together{0};
  std::vector<std::array<Admitted, 2>> admitted(thread_count);
  on_all_threads([&](std::size_t thread) {
    const std::array forward{Claim{{rule, "a"}}, Claim{{rule, "b"}}};
    const std::array backward{Claim{{rule, "b"}}, Claim{{rule, "a"}}};
    for (std::size_t call = 0; call < calls; ++call) {
      if (call % 4 == 3) {
        const std::size_t key = (call / 4 + thread) % 2;
        const Answer answer = table.take({rule, key == 0 ? "a" : "b"}, {clock.now(), 1, {}});
        if (!taken(answer.decision.verdict)) continue;
        alone[key].fetch_add(1, std::memory_order_relaxed);
        admitted[thread][key].add(answer.decision.ready_at, 1);
        continue;
      }
      const auto& claims = thread % 2 == 0 ? forward : backward;
      const JointAnswer answer = table.take_all(claims, {clock.now(), 0, {}});
      if (!taken(answer.decision.verdict)) continue;
      together.fetch_add(1, std::memory_order_relaxed);
      for (auto& key : admitted[thread]) key.add(answer.decision.ready_at, 1);
    }
  });
  for (std::size_t key = 0; key < 2; ++key) {
    Admitted all;
    for (const auto& of_thread : admitted) all.add(of_thread[key]);
    EXPECT_LE(all.above(rule->limit.config()), 0);
    EXPECT_EQ(all.units(), together + alone[key]);
    // What the table counts is what was told: the rest of the burst is there, and no more.
    const Answer peek = table.peek({rule, key == 0 ? "a" : "b"}, {clock.now(), 0, {}});
    EXPECT_LE(peek.decision.remaining, 20);
  }
  EXPECT_GT(together, 0);
}

/// prefetch() is the one call that takes no lock: here arrays are replaced under its feet.
TEST(ThreadsThatLookAhead, MayDoSoWhileOthersMakeTheTableGrowAndShrink) {
  Rules rules;
  const Rule* rule = rules.find("1/1ms").value();
  Table table({.shards = 2});
  std::atomic<std::int64_t> admitted{0};
  on_all_threads([&](std::size_t thread) {
    Instant now = start;
    for (int at = 0; at < 2'000; ++at) {
      const string key = std::to_string(thread) + ':' + std::to_string(at % 700);
      const std::uint64_t hash = table.prefetch({rule, key});
      now += at % 700 == 0 ? Span{5'000} : Span{1};
      const Answer answer = table.take({rule, key, nullptr, hash}, {now});
      if (taken(answer.decision.verdict)) admitted.fetch_add(1, std::memory_order_relaxed);
      if (at % 700 == 0) table.sweep(now, 1'000);
    }
  });
  EXPECT_GT(admitted.load(), 0);
  EXPECT_LE(table.stats().keys, 700u * thread_count);
}

TEST(ThreadsThatGiveBack, LeaveEachGrantsUnitsReturnedOnce) {
  constexpr std::size_t calls = 2'000;
  Rules rules;
  const Rule* rule = rules.find("sliding-log 1000/1h").value();
  Table table({.shards = 1});
  std::atomic<Cost> kept{0};
  on_all_threads([&](std::size_t thread) {
    for (std::size_t call = 0; call < calls; ++call) {
      Grant grant;
      const Answer answer = table.take({rule, "hot"}, {start, 1, {}}, &grant);
      if (!taken(answer.decision.verdict)) continue;
      kept.fetch_add(1, std::memory_order_relaxed);
      if ((call + thread) % 3 > 0) continue;
      kept.fetch_sub(table.cancel({rule, "hot"}, start, grant), std::memory_order_relaxed);
    }
  });
  EXPECT_EQ(table.peek({rule, "hot"}, {start, 0, {}}).decision.remaining, 1'000 - kept);
}

TEST(ThreadsThatEnterAndLeave, AreNeverMoreInsideThanTheLimit) {
  constexpr std::size_t calls = 3'000;
  constexpr Cost limit = 3;
  Rules rules;
  const Rule* rule = rules.find("concurrency 3/1h").value();
  Table table({.shards = 1});
  SharedClock clock;
  std::atomic<Cost> inside{0};
  std::atomic<Cost> most{0};
  std::atomic<std::size_t> entered{0};
  on_all_threads([&](std::size_t) {
    for (std::size_t call = 0; call < calls; ++call) {
      Grant grant;
      const Answer answer = table.take({rule, "hot"}, {clock.now(), 1, {}}, &grant);
      if (!taken(answer.decision.verdict)) {
        std::this_thread::yield();
        continue;
      }
      const Cost now_inside = inside.fetch_add(1) + 1;
      for (Cost seen = most; seen < now_inside && !most.compare_exchange_weak(seen, now_inside);) {
      }
      entered.fetch_add(1);
      if (call % 4 == 0) std::this_thread::yield();
      const PermitId permit = Concurrency::permit_of(grant.marks[0]);
      if (call % 7 == 0) {
        EXPECT_GT(table.renew({rule, "hot"}, clock.now(), permit), Span{0});
      }
      inside.fetch_sub(1);
      EXPECT_EQ(table.leave({rule, "hot"}, clock.now(), permit), 1);
    }
  });
  EXPECT_LE(most, limit);
  EXPECT_GT(entered, 1'000u);
  EXPECT_EQ(table.peek({rule, "hot"}, {clock.now(), 0, {}}).decision.remaining, limit);
}

}  // namespace
}  // namespace weir
