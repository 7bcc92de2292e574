// Asking a limiter over a store by Asio, on a table whose answers the test gives.
#include <gtest/gtest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <memory>
#include <thread>

#include "test/redis/remote_table_by_hand.hpp"
#include "weir/redis/asio.hpp"

namespace weir::redis {
namespace {

namespace net = boost::asio;

RemoteAnswer granted() {
  return {.decision = {Verdict::granted, Instant{}, 5, 4, Instant{}}, .decided_at = Instant{}};
}

TEST(AsioAnswer, CompletesOnTheExecutorWhoeverBringsIt) {
  Hands hands;
  const Limiter limiter(hands, "5/1m");
  net::io_context io;
  std::thread::id completed_on;
  async_try_acquire(limiter, "alice", 2, net::bind_executor(io, [&](const Outcome& outcome) {
                      EXPECT_EQ(outcome.remaining, 4);
                      completed_on = std::this_thread::get_id();
                    }));
  const std::jthread store([&] { hands.next().then(granted()); });
  io.run();  // waits for it: it is work
  EXPECT_EQ(completed_on, std::this_thread::get_id());
}

TEST(AsioAnswer, NeverCompletesWithinTheCall) {
  Hands hands;
  hands.answers = granted();
  const Limiter limiter(hands, "5/1m");
  net::io_context io;
  bool told = false;
  auto token = net::bind_executor(io, [&told](const Outcome&) { told = true; });
  async_try_acquire(limiter, "alice", 1, token);
  EXPECT_FALSE(told);
  io.run();
  EXPECT_TRUE(told);
}

TEST(AsioAnswer, TakesAHandlerThatCanOnlyBeMoved) {
  Hands hands;
  hands.answers = granted();
  const Limiter limiter(hands, "5/1m");
  net::io_context io;
  Cost remaining = 0;
  auto to = std::make_unique<Cost*>(&remaining);
  async_try_acquire(limiter, "alice", 1,
                    net::bind_executor(io, [to = std::move(to)](const Outcome& outcome) {
                      **to = outcome.remaining;
                    }));
  io.run();
  EXPECT_EQ(remaining, 4);
}

net::awaitable<Cost> ask(const Limiter<int>& limiter) {
  const Outcome outcome = co_await async_try_acquire(limiter, 7, 1, net::use_awaitable);
  co_return outcome.remaining;
}

TEST(AsioAnswer, IsAwaited) {
  Hands hands;
  const Limiter<int> limiter(hands, "5/1m");
  net::io_context io;
  auto remaining = net::co_spawn(io, ask(limiter), net::use_future);
  const std::jthread store([&] {
    const Asked asked = hands.next();
    EXPECT_EQ(asked.keys.front(), "7");
    asked.then(granted());
  });
  io.run();
  EXPECT_EQ(remaining.get(), 4);
}

}  // namespace
}  // namespace weir::redis
