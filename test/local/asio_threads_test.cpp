// Waiting for a limiter with Asio on several threads: what was admitted is counted against the
// bound, and every place comes back.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <deque>
#include <random>
#include <thread>
#include <type_traits>
#include <vector>

#include "weir/local/asio.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
namespace net = boost::asio;

constexpr Cost rate = 5'000;
constexpr Cost burst = 20;

template <typename Keeper>
typename Keeper::Settings settings() {
  if constexpr (std::is_same_v<Keeper, AtomicWord>) {
    return {.count = rate, .period = 1s, .burst = burst};
  } else {
    return Limit::parse("5k/s burst 20").value();
  }
}

/// One operation: where its handler runs, how to cancel it, what it came to.
struct Asked {
  explicit Asked(net::io_context& io) : strand(net::make_strand(io)) {}

  net::strand<net::io_context::executor_type> strand;
  net::cancellation_signal cancel;
  bool told = false;
  Outcome outcome;
};

/// The most that a window held above the bound.
Cost above_bound(std::vector<SteadyInstant> grants) {
  std::sort(grants.begin(), grants.end());
  Cost worst = 0;
  for (std::size_t first = 0; first < grants.size(); ++first) {
    for (std::size_t last = first; last < grants.size(); ++last) {
      // A microsecond more, for what keeps whole ones.
      const auto length = grants[last] - grants[first] + 1us;
      const Cost bound = burst + length * rate / std::chrono::nanoseconds{1s};
      worst = std::max(worst, static_cast<Cost>(last - first) + 1 - bound);
    }
  }
  return worst;
}

template <typename Keeper>
class AsioThreads : public testing::Test {};

using Keepers = testing::Types<AtomicWord, LimitState>;
TYPED_TEST_SUITE(AsioThreads, Keepers);

TYPED_TEST(AsioThreads, WhateverIsCancelledAndMovedTheBoundHoldsAndEveryPlaceComesBack) {
  BasicLimiter<TypeParam> limiter(settings<TypeParam>());
  net::io_context io;
  auto work = net::make_work_guard(io);
  std::vector<std::thread> threads;
  for (int count = 0; count < 4; ++count) threads.emplace_back([&] { io.run(); });

  std::atomic<bool> ended = false;
  std::thread others([&] {  // who take places of their own and give them back
    while (!ended) {
      auto reservation = limiter.reserve(3, 2ms);
      std::this_thread::yield();
      reservation.cancel();
      limiter.reconfigure(settings<TypeParam>());
    }
  });

  using Reservation = typename BasicLimiter<TypeParam>::Reservation;
  std::deque<Reservation> ahead;  // so that a line forms
  for (int count = 0; count < 50; ++count) ahead.emplace_back(limiter.reserve(burst));

  std::mt19937 random(1);
  std::deque<Asked> all;
  for (int count = 0; count < 1'000; ++count) {
    Asked& asked = all.emplace_back(io);
    const auto note = [&asked](boost::system::error_code error, Outcome outcome) {
      EXPECT_EQ(error == net::error::operation_aborted, outcome.refusal == Refusal::stopped);
      EXPECT_FALSE(asked.told);
      asked.told = true;
      asked.outcome = outcome;
    };
    // A slot belongs to the strand, so what uses it begins there.
    net::post(asked.strand, [&limiter, &asked, note] {
      async_acquire(
          limiter, 1,
          net::bind_cancellation_slot(asked.cancel.slot(), net::bind_executor(asked.strand, note)));
    });
    if (random() % 3 == 0) {
      Asked& one = all[all.size() - 1 - random() % std::min<std::size_t>(all.size(), 200)];
      net::post(one.strand, [&one] { one.cancel.emit(net::cancellation_type::total); });
    }
  }
  while (limiter.waiting() < 300 && ahead.back().ready_at() > std::chrono::steady_clock::now()) {
    std::this_thread::yield();
  }
  for (; !ahead.empty(); ahead.pop_back()) ahead.back().cancel();  // who waits moves up
  work.reset();
  for (std::thread& thread : threads) thread.join();
  ended = true;
  others.join();

  std::vector<SteadyInstant> grants;
  std::size_t stopped = 0;
  for (const Asked& asked : all) {
    ASSERT_TRUE(asked.told);
    if (asked.outcome) {
      EXPECT_LE(asked.outcome.ready_at, std::chrono::steady_clock::now() + 1ms);
      grants.push_back(asked.outcome.ready_at);
    } else {
      EXPECT_EQ(asked.outcome.refusal, Refusal::stopped);
      ++stopped;
    }
  }
  EXPECT_GT(stopped, 0u);
  EXPECT_EQ(grants.size() + stopped, all.size());
  EXPECT_LE(above_bound(grants), 0);
  EXPECT_EQ(limiter.waiting(), 0u);
  EXPECT_EQ(limiter.peek(1, std::chrono::steady_clock::now() + 1s).remaining, burst);
}

TYPED_TEST(AsioThreads, AContextMayEndWhileOthersMoveItsPlaces) {
  BasicLimiter<TypeParam> limiter(settings<TypeParam>());
  std::atomic<bool> ended = false;
  std::thread others([&] {
    while (!ended) {
      limiter.reserve(5).cancel();
      limiter.reconfigure(settings<TypeParam>());
    }
  });
  for (int round = 0; round < 200; ++round) {
    net::io_context io;
    auto ahead = limiter.reserve(burst);
    for (int count = 0; count < 20; ++count) {
      async_acquire(limiter, burst, net::bind_executor(io, [](auto, auto) {}));
    }
    ahead.cancel();
    io.poll();
  }
  ended = true;
  others.join();
  EXPECT_EQ(limiter.waiting(), 0u);
}

TYPED_TEST(AsioThreads, AManyThreadedContextNeedsNoStrand) {
  BasicLimiter<TypeParam> limiter(settings<TypeParam>());
  net::io_context io;
  std::atomic<int> granted = 0;
  for (int count = 0; count < 500; ++count) {
    async_acquire(limiter, 1, net::bind_executor(io, [&](auto, Outcome outcome) {
                    if (outcome) ++granted;
                  }));
  }
  std::vector<std::thread> threads;
  for (int count = 0; count < 4; ++count) threads.emplace_back([&] { io.run(); });
  limiter.reconfigure(settings<TypeParam>());
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(granted, 500);
  EXPECT_EQ(limiter.waiting(), 0u);
}

}  // namespace
}  // namespace weir
