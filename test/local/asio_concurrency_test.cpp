// Waiting for a place in flight with Asio.
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "weir/local/asio_concurrency.hpp"
#include "weir/local/concurrency.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
namespace net = boost::asio;
using boost::system::error_code;

constexpr SteadyInstant start{1h};

using Limit = BasicConcurrencyLimit<ManualClock>;

struct Answer {
  error_code error;
  Limit::Permit permit;
};
using Answered = std::optional<Answer>;

auto keep(Answered& answer) {
  return [&answer](error_code error, Limit::Permit permit) {
    answer.emplace(Answer{error, std::move(permit)});
  };
}

struct AsioEnter : testing::Test {
  template <typename Token>
  auto begin(Token&& token, const Entry& entry = {}) {
    return async_enter(limit, entry, net::bind_executor(io, std::forward<Token>(token)));
  }

  /// Runs what is ready now.
  void run() {
    io.restart();
    io.poll();
  }
  template <typename Done>
  void run_until(Done&& done) {
    const auto until = std::chrono::steady_clock::now() + 20s;
    while (!done() && std::chrono::steady_clock::now() < until) {
      io.restart();
      io.run_one_until(until);
    }
    ASSERT_TRUE(done());
  }

  ManualTime time{start};
  Limit limit{{.limit = 2, .queue = 4}, ManualClock(time)};
  net::io_context io;
};

TEST_F(AsioEnter, WhereThereIsRoomItIsLetInAtOnceAndToldLater) {
  Answered answer;
  begin(keep(answer), {.weight = 2});
  EXPECT_FALSE(answer);
  EXPECT_EQ(limit.in_flight(), 2);
  run();
  ASSERT_TRUE(answer);
  EXPECT_FALSE(answer->error);
  EXPECT_TRUE(answer->permit);
  answer.reset();
  EXPECT_EQ(limit.in_flight(), 0);
}

TEST_F(AsioEnter, WhoLeavesHandsItsPlaceToTheFirstThatWaits) {
  auto running = limit.try_enter({.weight = 2});
  Answered first;
  Answered second;
  begin(keep(first), {.weight = 2});
  begin(keep(second));
  EXPECT_EQ(limit.waiting(), 2u);
  run();
  EXPECT_FALSE(first);
  running.end(CallEnd::success);
  run_until([&] { return first.has_value(); });
  EXPECT_TRUE(first->permit);
  EXPECT_FALSE(second);
  first->permit.end(CallEnd::success);
  run_until([&] { return second.has_value(); });
  EXPECT_TRUE(second->permit);
}

TEST_F(AsioEnter, ARefusalIsNoError) {
  auto running = limit.try_enter({.weight = 2});
  Answered heavy;
  Answered at_once;
  Answered late;
  begin(keep(heavy), {.weight = 3});
  async_enter_for(limit, {}, 0ns, net::bind_executor(io, keep(at_once)));
  async_enter_for(limit, {}, 5ms, net::bind_executor(io, keep(late)));
  run();
  ASSERT_TRUE(heavy && at_once);
  EXPECT_EQ(heavy->permit.refused().verdict, Verdict::impossible);
  EXPECT_EQ(at_once->permit.refused().refusal, Refusal::limit);
  EXPECT_EQ(limit.waiting(), 1u);
  time.advance(5ms);
  run_until([&] { return late.has_value(); });
  EXPECT_EQ(late->permit.refused().refusal, Refusal::timed_out);
  for (const Answered* answer : {&heavy, &at_once, &late}) EXPECT_FALSE((*answer)->error);
  EXPECT_EQ(limit.waiting(), 0u);
}

TEST_F(AsioEnter, WhereAllPlacesInLineAreTakenItIsToldSo) {
  auto running = limit.try_enter({.weight = 2});
  std::deque<Answered> answers(5);
  for (Answered& answer : answers) begin(keep(answer));
  run();
  ASSERT_TRUE(answers.back());
  EXPECT_EQ(answers.back()->permit.refused().refusal, Refusal::line_full);
  EXPECT_FALSE(answers.front());
}

TEST_F(AsioEnter, EveryKindOfCancellationGivesThePlaceBack) {
  using Type = net::cancellation_type;
  for (const Type type : {Type::terminal, Type::partial, Type::total, Type::all}) {
    auto running = limit.try_enter();
    net::cancellation_signal signal;
    Answered stopped;
    Answered behind;
    // It wants more than there is, and so holds back the other.
    begin(net::bind_cancellation_slot(signal.slot(), keep(stopped)), {.weight = 2});
    begin(keep(behind));
    signal.emit(Type::none);
    run();
    EXPECT_FALSE(stopped);
    EXPECT_FALSE(behind);
    signal.emit(type);
    EXPECT_FALSE(stopped) << "completed within emit()";
    run_until([&] { return stopped && behind; });
    EXPECT_EQ(stopped->error, net::error::operation_aborted);
    EXPECT_EQ(stopped->permit.refused().refusal, Refusal::stopped);
    EXPECT_TRUE(behind->permit);
    EXPECT_FALSE(signal.slot().has_handler());
  }
  EXPECT_EQ(limit.in_flight(), 0);
}

TEST_F(AsioEnter, CancelledWhileItsPermitIsOnTheWayItHasIt) {
  for (const Cost weight : {2, 1}) {  // which it waits for; which is free
    auto running = limit.try_enter();
    net::cancellation_signal signal;
    Answered answer;
    begin(net::bind_cancellation_slot(signal.slot(), keep(answer)), {.weight = weight});
    running.end(CallEnd::success);
    signal.emit(net::cancellation_type::terminal);
    run_until([&] { return answer.has_value(); });
    EXPECT_FALSE(answer->error);
    EXPECT_TRUE(answer->permit);
  }
}

TEST_F(AsioEnter, AContextThatEndsGivesBackPlacesAndUntoldPermits) {
  auto witness = std::make_shared<int>();
  Answered outside;
  {
    net::io_context ends;
    const auto handler = [witness](error_code, const Limit::Permit&) {};
    for (int count = 0; count < 4; ++count) {
      async_enter(limit, {}, net::bind_executor(ends, handler));
    }
    begin(keep(outside), {.weight = 2});
    EXPECT_EQ(limit.in_flight(), 2);
    EXPECT_EQ(limit.waiting(), 3u);
  }
  EXPECT_EQ(witness.use_count(), 1);
  EXPECT_EQ(limit.waiting(), 0u);
  run_until([&] { return outside.has_value(); });
  EXPECT_TRUE(outside->permit);
  outside.reset();
  EXPECT_EQ(limit.in_flight(), 0);
}

/// Memory that ends after a few blocks.
template <typename Value>
struct Scarce {
  using value_type = Value;

  explicit Scarce(std::size_t& blocks) noexcept : left(&blocks) {}
  template <typename Other>
  Scarce(const Scarce<Other>& other) noexcept : left(other.left) {}

  Value* allocate(std::size_t count) {
    if (*left == 0) throw std::bad_alloc();
    --*left;
    return std::allocator<Value>().allocate(count);
  }
  void deallocate(Value* at, std::size_t count) noexcept {
    std::allocator<Value>().deallocate(at, count);
  }
  bool operator==(const Scarce&) const = default;

  std::size_t* left;
};

TEST_F(AsioEnter, WithoutMemoryNothingIsTaken) {
  for (const std::int64_t held : {0, 2}) {
    auto running = held > 0 ? limit.try_enter({.weight = held}) : limit.try_enter({.weight = 9});
    for (const std::size_t blocks : {0u, 1u}) {
      std::size_t left = blocks;
      Answered never_told;
      const auto token = net::bind_allocator(Scarce<char>(left), keep(never_told));
      EXPECT_THROW(begin(token), std::bad_alloc);
      EXPECT_EQ(limit.in_flight(), held);
      EXPECT_EQ(limit.waiting(), 0u);
      run();
      EXPECT_FALSE(never_told);
    }
  }
}

TEST_F(AsioEnter, IsAwaitedByACoroutineAndGivesAFuture) {
  bool done = false;
  net::co_spawn(
      io,
      [&]() -> net::awaitable<void> {
        const Limit::Permit permit = co_await async_enter(limit, {}, net::use_awaitable);
        EXPECT_TRUE(permit);
        EXPECT_EQ(limit.in_flight(), 1);
        done = true;
      },
      net::detached);
  run();
  EXPECT_TRUE(done);
  EXPECT_EQ(limit.in_flight(), 0);
  auto future = begin(net::use_future);
  run();
  EXPECT_TRUE(future.get());
}

// ---- Threads ----

/// One operation: where its handler runs, and how to cancel it.
struct Asked {
  explicit Asked(net::io_context& io) : strand(net::make_strand(io)) {}

  net::strand<net::io_context::executor_type> strand;
  net::cancellation_signal cancel;
  bool told = false;
};

TEST(AsioEnterThreads, WhateverIsCancelledNoMoreAreInFlightThanMayAndEveryPlaceComesBack) {
  ConcurrencyLimit limit({.limit = 3, .queue = 2'000});
  net::io_context io;
  auto work = net::make_work_guard(io);
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int count = 0; count < 8; ++count) threads.emplace_back([&] { io.run(); });
  std::atomic<int> in_flight{0};
  std::atomic<int> most{0};
  std::atomic<int> served{0};
  std::mt19937 random(1);
  std::deque<Asked> all;
  for (int count = 0; count < 1'000; ++count) {
    Asked& asked = all.emplace_back(io);
    const auto run = [&](error_code error, ConcurrencyLimit::Permit permit) {
      EXPECT_FALSE(asked.told);
      asked.told = true;
      EXPECT_EQ(error == net::error::operation_aborted, !permit);
      if (!permit) return;
      const int now = in_flight.fetch_add(1) + 1;
      int seen = most;
      while (seen < now && !most.compare_exchange_weak(seen, now)) continue;
      std::this_thread::yield();
      in_flight.fetch_sub(1);
      permit.end(CallEnd::success);
      ++served;
    };
    // A slot belongs to the strand, so what uses it begins there.
    net::post(asked.strand, [&limit, &asked, run] {
      async_enter(
          limit, {},
          net::bind_cancellation_slot(asked.cancel.slot(), net::bind_executor(asked.strand, run)));
    });
    if (random() % 3 == 0) {
      Asked& one = all[all.size() - 1 - random() % std::min<std::size_t>(all.size(), 20)];
      net::post(one.strand, [&one] { one.cancel.emit(net::cancellation_type::total); });
    }
  }
  work.reset();
  for (std::thread& thread : threads) thread.join();
  for (const Asked& asked : all) EXPECT_TRUE(asked.told);
  EXPECT_LE(most.load(), 3);
  EXPECT_GT(served.load(), 300);
  EXPECT_EQ(limit.in_flight(), 0);
  EXPECT_EQ(limit.waiting(), 0u);
}

TEST(AsioEnterThreads, AContextMayEndWhileOthersHandPlacesOver) {
  ConcurrencyLimit limit({.limit = 2, .queue = 2'000});
  std::atomic<bool> ended{false};
  std::thread others([&] {
    while (!ended) {
      limit.enter_for({}, 1ms).end(CallEnd::success);
      limit.set_limit(2);
    }
  });
  for (int round = 0; round < 100; ++round) {
    net::io_context io;
    for (int count = 0; count < 20; ++count) {
      async_enter(limit, {}, net::bind_executor(io, [](auto, auto) {}));
    }
    io.poll();
  }
  ended = true;
  others.join();
  EXPECT_EQ(limit.in_flight(), 0);
  EXPECT_EQ(limit.waiting(), 0u);
}

}  // namespace
}  // namespace weir
