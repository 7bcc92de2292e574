// SharedRate over a registry in this process, by the steady clock.
#include "weir/redis/shares.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <charconv>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "redis/share_registry.hpp"
#include "test/redis/await.hpp"

namespace weir::redis {
namespace {

using namespace std::chrono_literals;
using test::await;

std::int64_t number(std::string_view word) {
  std::int64_t value = 0;
  std::from_chars(word.data(), word.data() + word.size(), value);
  return value;
}

/// Knows one function, weir_1_share, and goes by the steady clock.
class RegistryStore : public Store {
 public:
  void ask(const StoreCall& call, Then then) override {
    std::unique_lock lock(mutex_);
    if (cut_off_) {
      lock.unlock();
      return then({CallOutcome::timed_out, StoreReply::Kind::none, {}, "nobody answers"});
    }
    if (holds_) return held_.push_back(std::move(then));
    ShareRegistry::Request request{.lease = Span{number(call.words[5])},
                                   .member = number(call.words[6]),
                                   .asked = number(call.words[7]),
                                   .wants = number(call.words[8]),
                                   .holds = number(call.words[9])};
    const Span steady =
        std::chrono::floor<Span>(std::chrono::steady_clock::now().time_since_epoch());
    const auto answer = ShareRegistry::step(state_, Instant{steady}, request);
    lock.unlock();
    if (!answer) return then({CallOutcome::answered, StoreReply::Kind::error, {}, "ERR weir: no"});
    then({CallOutcome::answered,
          StoreReply::Kind::integers,
          {answer->share, answer->members, answer->learns_for.count(), steady.count()},
          {}});
  }

  void cut_off() {
    const std::lock_guard lock(mutex_);
    cut_off_ = true;
  }
  /// From now on calls are kept, and none is answered.
  void hold() {
    const std::lock_guard lock(mutex_);
    holds_ = true;
  }
  std::vector<Then> take_held() {
    const std::lock_guard lock(mutex_);
    return std::exchange(held_, {});
  }
  std::size_t held() {
    const std::lock_guard lock(mutex_);
    return held_.size();
  }

 private:
  std::mutex mutex_;
  std::optional<ShareRegistry::State> state_;
  bool cut_off_ = false;
  bool holds_ = false;
  std::vector<Then> held_;
};

SharedRateSettings usual() {
  return {.name = "limit",
          .count = 100'000,
          .period = 1s,
          .burst = 1'000,
          .division = Division::equal,
          .lease = 200ms};
}

TEST(SharedRate, HasAllOfTheLimitAloneAndHalfOfItWithAnother) {
  RegistryStore store;
  SharedRate first(store, usual());
  await("the first has it all", [&] { return first.share().part == 1; });
  {
    SharedRate second(store, usual());
    await("each has half", [&] { return first.share().part == 0.5 && second.share().part == 0.5; });
    await("units drip in", [&] { return bool(second.try_acquire()); });
    EXPECT_EQ(second.share().members, 2);
    EXPECT_TRUE(second.share().leased);
  }
  await("the second has left", [&] { return first.share().part == 1; });
}

TEST(SharedRate, LetsNothingInWithoutARegistry) {
  RegistryStore store;
  store.cut_off();
  SharedRate rate(store, usual());
  await("it was asked", [&] { return rate.share().failures > 2; });
  EXPECT_FALSE(rate.try_acquire());
  EXPECT_EQ(rate.share().trouble, "nobody answers");
}

TEST(SharedRate, LetsItsPartInWithoutARegistryWhereThatIsWished) {
  RegistryStore store;
  store.cut_off();
  SharedRateSettings settings = usual();
  settings.without = WithoutRegistry::share;
  settings.members = 4;
  SharedRate rate(store, settings);
  await("it is cut off", [&] { return rate.share().part == 0.25; });
  await("units drip in", [&] { return bool(rate.try_acquire()); });
  EXPECT_FALSE(rate.share().leased);
}

TEST(SharedRate, EndsItsShareWithItsLeaseWhoeverIsLate) {
  RegistryStore store;
  SharedRate rate(store, usual());
  await("it has it all", [&] { return rate.share().part == 1; });
  await("units drip in", [&] { return bool(rate.try_acquire()); });
  store.hold();
  // Told of an instant behind any lease, it lets nothing in, though nothing else was told.
  const SteadyInstant late = std::chrono::steady_clock::now() + usual().lease;
  EXPECT_FALSE(rate.try_acquire(1, late));
  EXPECT_FALSE(rate.try_acquire(1, late + 1h));
}

TEST(SharedRate, TellsACostAboveItsPartFromOneThatIsImpossible) {
  RegistryStore store;
  SharedRate first(store, usual());
  SharedRate second(store, usual());
  await("each has half", [&] { return first.share().part == 0.5 && second.share().part == 0.5; });
  const Outcome outcome = first.try_acquire(501);
  EXPECT_EQ(outcome.verdict, Verdict::denied);
  EXPECT_LE(outcome.ready_at, std::chrono::steady_clock::now() + 200ms);
  EXPECT_EQ(first.try_acquire(1'001).verdict, Verdict::impossible);
  EXPECT_EQ(first.try_acquire(-1).verdict, Verdict::impossible);
  EXPECT_TRUE(first.try_acquire(0));
}

TEST(SharedRate, MayBeGoneBeforeItsAnswerComes) {
  RegistryStore store;
  store.hold();
  auto rate = std::make_unique<SharedRate>(store, usual());
  await("it asks", [&] { return store.held() > 0; });
  rate.reset();
  for (const Store::Then& then : store.take_held()) {
    then({CallOutcome::answered, StoreReply::Kind::integers, {1'000'000, 1, 0, 5}, {}});
  }
}

TEST(SharedRate, HearsNoAnswerThatIsNone) {
  class Strange : public Store {
   public:
    void ask(const StoreCall&, Then then) override {
      const std::vector<std::vector<std::int64_t>> answers{
          {}, {1'000'001, 1, 0, 5}, {-1, 1, 0, 5}, {1, 1, 0}, {1, 1, 0, 5, 6}, {1, -1, 0, 5}};
      const std::size_t at = asked++ % answers.size();
      then({CallOutcome::answered, StoreReply::Kind::integers, answers[at], {}});
    }
    std::atomic<std::size_t> asked = 0;
  } store;
  SharedRate rate(store, usual());
  await("it has asked", [&] { return store.asked > 12; });
  EXPECT_EQ(rate.share().answers, 0u);
  EXPECT_EQ(rate.share().trouble, "no registry's answer");
  EXPECT_EQ(rate.share().part, 0);
}

TEST(SharedRate, KeepsTheLimitWhileThreadsUseItAndMembersComeAndGo) {
  RegistryStore store;
  SharedRateSettings settings = usual();
  settings.lease = 100ms;
  const SteadyInstant begun = std::chrono::steady_clock::now();
  std::atomic<std::int64_t> admitted = 0;
  std::atomic<int> joined = 0;
  constexpr int generations = 12;
  std::vector<std::thread> hosts;
  for (int host = 0; host < 3; ++host) {
    hosts.emplace_back([&] {
      for (int generation = 0; generation < generations / 3; ++generation) {
        SharedRate rate(store, settings);
        ++joined;
        std::atomic<bool> over = false;
        std::thread beside([&] {
          while (!over) admitted += rate.try_acquire() ? 1 : 0;
        });
        int here = 0;
        try {
          await("some were let in", [&] {
            for (int call = 0; call < 100; ++call) here += rate.try_acquire() ? 1 : 0;
            return here > 200;
          });
        } catch (const std::runtime_error& error) {
          ADD_FAILURE() << error.what();
        }
        over = true;
        beside.join();
        admitted += here;
      }
    });
  }
  for (std::thread& host : hosts) host.join();
  const std::chrono::duration<double> lasted = std::chrono::steady_clock::now() - begun;
  EXPECT_EQ(joined, generations);
  EXPECT_LE(static_cast<double>(admitted), 1'000 + generations + 1e5 * lasted.count());
}

TEST(SharedRate, NamesTheSettingThatIsNoGood) {
  RegistryStore store;
  SharedRateSettings settings = usual();
  settings.count = 0;
  try {
    SharedRate rate(store, settings);
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("shared rate: count"), std::string::npos);
  }
}

}  // namespace
}  // namespace weir::redis
