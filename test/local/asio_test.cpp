// Waiting for a limiter with Asio, on a time that the test sets.
#include <gtest/gtest.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <tuple>
#include <vector>

#include "weir/local/asio.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
namespace net = boost::asio;
using boost::system::error_code;

/// What an operation completed with, once it has.
using Answer = std::optional<std::pair<error_code, Outcome>>;

auto keep(Answer& answer) {
  return [&answer](error_code error, Outcome outcome) { answer.emplace(error, outcome); };
}

/// Both kinds of limiter, one unit a second and a burst of one.
template <typename Keeper>
class AsioAcquire : public testing::Test {
 public:
  using Limiter = BasicLimiter<Keeper, ManualClock>;

  static typename Keeper::Settings settings(Cost count, Cost burst) {
    if constexpr (std::is_same_v<Keeper, AtomicWord>) {
      return {.count = count, .period = 1s, .burst = burst};
    } else {
      const std::string text = std::to_string(count) + "/s burst " + std::to_string(burst);
      return Limit::parse(text).value();
    }
  }

  template <typename Token>
  auto begin(Token&& token, Cost cost = 1) {
    return async_acquire(limiter, cost, net::bind_executor(io, std::forward<Token>(token)));
  }

  void use_up() { ASSERT_TRUE(limiter.try_acquire(limiter.peek().remaining)); }

  /// Runs what is ready now, and timers that look at the clock again and again.
  void run() {
    const auto until = std::chrono::steady_clock::now() + 2ms;
    while (std::chrono::steady_clock::now() < until) {
      io.restart();
      io.run_one_until(until);
    }
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
  void at(std::chrono::nanoseconds since_start) { time.set(start + since_start); }

  static constexpr SteadyInstant start{1h};
  ManualTime time{start};
  Limiter limiter{settings(1, 1), ManualClock(time)};
  net::io_context io;
};

using Keepers = testing::Types<AtomicWord, LimitState>;
TYPED_TEST_SUITE(AsioAcquire, Keepers);

void expect_granted(const Answer& answer) {
  ASSERT_TRUE(answer);
  EXPECT_FALSE(answer->first) << answer->first.message();
  EXPECT_EQ(answer->second.verdict, Verdict::granted);
}

void expect_stopped(const Answer& answer) {
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->first, net::error::operation_aborted);
  EXPECT_EQ(answer->second.refusal, Refusal::stopped);
  EXPECT_FALSE(answer->second);
}

TYPED_TEST(AsioAcquire, WhatIsFreeIsTakenAtOnceAndToldLater) {
  Answer answer;
  this->begin(keep(answer));
  EXPECT_FALSE(answer);
  EXPECT_EQ(this->limiter.peek().remaining, 0);
  this->io.poll();
  expect_granted(answer);
}

TYPED_TEST(AsioAcquire, WhoWaitsActsAtItsInstantAndNotBefore) {
  this->use_up();
  Answer first;
  Answer second;
  this->begin(keep(first));
  this->begin(keep(second));
  EXPECT_EQ(this->limiter.waiting(), 2u);
  this->at(1s - 1ns);
  this->run();
  EXPECT_FALSE(first);
  this->at(1s);
  this->run_until([&] { return first.has_value(); });
  expect_granted(first);
  EXPECT_EQ(first->second.ready_at, this->start + 1s);
  this->run();
  EXPECT_FALSE(second);
  this->at(2s);
  this->run_until([&] { return second.has_value(); });
  expect_granted(second);
  EXPECT_EQ(this->limiter.waiting(), 0u);
}

TYPED_TEST(AsioAcquire, ARefusalIsNoError) {
  Answer impossible;
  Answer negative;
  Answer hopeless;
  this->begin(keep(impossible), 2);
  this->begin(keep(negative), -1);
  this->use_up();
  async_acquire_for(this->limiter, 1, 999ms, net::bind_executor(this->io, keep(hopeless)));
  this->io.poll();
  for (const Answer* answer : {&impossible, &negative, &hopeless}) {
    ASSERT_TRUE(*answer);
    EXPECT_FALSE((*answer)->first);
    EXPECT_FALSE((*answer)->second);
  }
  EXPECT_EQ(impossible->second.verdict, Verdict::impossible);
  EXPECT_EQ(negative->second.verdict, Verdict::impossible);
  EXPECT_EQ(hopeless->second.verdict, Verdict::denied);
  EXPECT_EQ(this->limiter.waiting(), 0u);
}

TYPED_TEST(AsioAcquire, AProbeOfCostZeroWaitsForNothing) {
  Answer answer;
  this->begin(keep(answer), 0);
  this->io.poll();
  expect_granted(answer);
  EXPECT_EQ(this->limiter.peek().remaining, 1);
}

// ---- Cancellation ----

TYPED_TEST(AsioAcquire, EveryKindOfCancellationGivesThePlaceBackAndMovesUpWhoStandsBehind) {
  using Type = net::cancellation_type;
  for (const Type type : {Type::terminal, Type::partial, Type::total, Type::all}) {
    typename TestFixture::Limiter own{this->settings(1, 1), ManualClock(this->time)};
    ASSERT_TRUE(own.try_acquire());
    net::cancellation_signal signal;
    Answer stopped;
    Answer behind;
    async_acquire(
        own, 1,
        net::bind_cancellation_slot(signal.slot(), net::bind_executor(this->io, keep(stopped))));
    async_acquire(own, 1, net::bind_executor(this->io, keep(behind)));
    signal.emit(Type::none);
    this->run();
    EXPECT_FALSE(stopped);
    signal.emit(type);
    EXPECT_FALSE(stopped) << "completed within emit()";
    this->run_until([&] { return stopped.has_value(); });
    expect_stopped(stopped);
    EXPECT_EQ(own.waiting(), 1u);
    this->time.advance(1s);
    this->run_until([&] { return behind.has_value(); });
    expect_granted(behind);
  }
}

TYPED_TEST(AsioAcquire, CancelledAtItsInstantThePlaceComesBackAndATickLaterItIsGranted) {
  for (const auto late : {0us, 1us}) {
    SCOPED_TRACE(late.count());
    this->at(0s);
    typename TestFixture::Limiter own{this->settings(1, 1), ManualClock(this->time)};
    ASSERT_TRUE(own.try_acquire());
    net::cancellation_signal signal;
    Answer answer;
    async_acquire(
        own, 1,
        net::bind_cancellation_slot(signal.slot(), net::bind_executor(this->io, keep(answer))));
    this->at(1s + late);
    signal.emit(net::cancellation_type::total);
    this->run_until([&] { return answer.has_value(); });
    late == 0us ? expect_stopped(answer) : expect_granted(answer);
    EXPECT_EQ(own.waiting(), 0u);
    this->at(1s + 1us);
    EXPECT_EQ(own.peek().remaining, late == 0us ? 1 : 0);
  }
}

TYPED_TEST(AsioAcquire, CancelledWhileItsGrantIsOnTheWayItIsGranted) {
  net::cancellation_signal signal;
  Answer answer;
  this->begin(net::bind_cancellation_slot(signal.slot(), keep(answer)));
  signal.emit(net::cancellation_type::terminal);
  this->io.poll();
  expect_granted(answer);
}

TYPED_TEST(AsioAcquire, CancelledAfterItsHandlerNothingHappens) {
  net::cancellation_signal signal;
  Answer answer;
  this->begin(net::bind_cancellation_slot(signal.slot(), keep(answer)));
  this->io.poll();
  expect_granted(answer);
  EXPECT_FALSE(signal.slot().has_handler());
  signal.emit(net::cancellation_type::terminal);
  this->io.poll();
  EXPECT_EQ(this->limiter.peek().remaining, 0);
}

TYPED_TEST(AsioAcquire, ACoroutineCancelledBeforeItAsksTakesNothing) {
  net::cancellation_signal signal;
  error_code error;
  net::co_spawn(
      this->io,
      [&]() -> net::awaitable<void> {
        net::steady_timer timer(this->io, 1h);
        co_await timer.async_wait(net::as_tuple(net::use_awaitable));
        static_cast<void>(co_await async_acquire(this->limiter, 1, net::use_awaitable));
      },
      net::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr thrown) {
        try {
          if (thrown) std::rethrow_exception(thrown);
        } catch (const boost::system::system_error& caught) {
          error = caught.code();
        }
      }));
  this->io.poll();
  signal.emit(net::cancellation_type::terminal);
  this->io.run();
  EXPECT_EQ(error, net::error::operation_aborted);
  EXPECT_EQ(this->limiter.peek().remaining, 1);
}

// ---- Who moves in line ----

TYPED_TEST(AsioAcquire, MovesUpWhenAReservationBeforeItIsCancelled) {
  this->use_up();
  auto reservation = this->limiter.reserve();
  Answer answer;
  this->begin(keep(answer));
  this->at(1s);
  this->run();
  EXPECT_FALSE(answer);
  this->at(500ms);
  std::thread([&] { reservation.cancel(); }).join();
  this->at(1s);
  this->run_until([&] { return answer.has_value(); });
  expect_granted(answer);
}

TYPED_TEST(AsioAcquire, IsToldWhenTheLimitGetsFasterOrItsTurnNeverComes) {
  this->limiter.reconfigure(this->settings(1, 3), Inherit::reset);
  this->use_up();
  Answer one;
  Answer three;
  this->begin(keep(one));
  this->begin(keep(three), 3);
  this->limiter.reconfigure(this->settings(10, 1), Inherit::as_is);
  this->run_until([&] { return three.has_value(); });
  EXPECT_FALSE(three->first);
  EXPECT_EQ(three->second.verdict, Verdict::impossible);
  this->at(500ms);
  this->run_until([&] { return one.has_value(); });
  expect_granted(one);
}

TYPED_TEST(AsioAcquire, IsRefusedWhenItsTurnMovesBeyondItsTimeout) {
  this->use_up();
  Answer answer;
  async_acquire_for(this->limiter, 1, 1s, net::bind_executor(this->io, keep(answer)));
  typename TestFixture::Limiter::Settings slower = [] {
    if constexpr (std::is_same_v<TypeParam, AtomicWord>) {
      return typename TypeParam::Settings{.count = 1, .period = 10s, .burst = 1};
    } else {
      return Limit::parse("1/10s burst 1").value();
    }
  }();
  this->limiter.reconfigure(slower, Inherit::proportional);
  this->run_until([&] { return answer.has_value(); });
  EXPECT_FALSE(answer->first);
  EXPECT_EQ(answer->second.refusal, Refusal::limit);
  EXPECT_EQ(this->limiter.waiting(), 0u);
}

// ---- Completion tokens ----

TYPED_TEST(AsioAcquire, GivesAFuture) {
  auto granted = this->begin(net::use_future);
  net::cancellation_signal signal;
  auto stopped = this->begin(net::bind_cancellation_slot(signal.slot(), net::use_future));
  signal.emit(net::cancellation_type::total);
  this->io.run();
  EXPECT_TRUE(granted.get());
  EXPECT_THROW(static_cast<void>(stopped.get()), boost::system::system_error);
}

TYPED_TEST(AsioAcquire, IsAwaitedInEveryWayThatAsioKnows) {
  this->limiter.reconfigure(this->settings(1, 5), Inherit::reset);
  int done = 0;
  net::co_spawn(
      this->io,
      [&]() -> net::awaitable<void> {
        const Outcome plain = co_await async_acquire(this->limiter, 1, net::use_awaitable);
        const auto [error, pair] =
            co_await async_acquire(this->limiter, 1, net::as_tuple(net::use_awaitable));
        error_code redirected = net::error::eof;
        const Outcome third = co_await async_acquire(
            this->limiter, 1, net::redirect_error(net::use_awaitable, redirected));
        const Outcome late = co_await async_acquire(this->limiter, 1, net::deferred);
        auto kept = async_acquire(this->limiter, 1, net::deferred);
        EXPECT_EQ(this->limiter.peek().remaining, 1) << "deferred takes nothing before it begins";
        const Outcome begun = co_await std::move(kept);
        EXPECT_TRUE(plain && pair && third && late && begun);
        EXPECT_FALSE(error || redirected);
        EXPECT_EQ(this->limiter.peek().remaining, 0);
        ++done;
      },
      net::detached);
  this->io.run();
  EXPECT_EQ(done, 1);
}

TYPED_TEST(AsioAcquire, BesideATimerWhoeverLosesIsCancelled) {
  using namespace net::experimental::awaitable_operators;
  int done = 0;
  net::co_spawn(
      this->io,
      [&]() -> net::awaitable<void> {
        net::steady_timer timer(this->io, 1h);
        auto first = co_await (async_acquire(this->limiter, 1, net::use_awaitable) ||
                               timer.async_wait(net::use_awaitable));
        EXPECT_EQ(first.index(), 0u);
        timer.expires_after(1ms);
        auto second = co_await (async_acquire(this->limiter, 1, net::use_awaitable) ||
                                timer.async_wait(net::use_awaitable));
        EXPECT_EQ(second.index(), 1u);
        EXPECT_EQ(this->limiter.waiting(), 0u);
        ++done;
      },
      net::detached);
  this->io.run();
  EXPECT_EQ(done, 1);
}

TYPED_TEST(AsioAcquire, InAGroupOfTwoLimitersTheSlowerIsCancelled) {
  typename TestFixture::Limiter other{this->settings(1, 1), ManualClock(this->time)};
  this->use_up();
  int done = 0;
  net::experimental::make_parallel_group(
      this->begin(net::deferred),
      async_acquire(other, 1, net::bind_executor(this->io, net::deferred)))
      .async_wait(net::experimental::wait_for_one(),
                  [&](std::array<std::size_t, 2> order, error_code slow, Outcome, error_code fast,
                      Outcome outcome) {
                    EXPECT_EQ(order[0], 1u);
                    EXPECT_EQ(slow, net::error::operation_aborted);
                    EXPECT_FALSE(fast);
                    EXPECT_TRUE(outcome);
                    ++done;
                  });
  this->io.run();
  EXPECT_EQ(done, 1);
  EXPECT_EQ(this->limiter.waiting(), 0u);
}

// ---- Executor, allocator, end of the context ----

TYPED_TEST(AsioAcquire, CompletesOnTheStrandOfItsHandler) {
  auto strand = net::make_strand(this->io);
  int on_strand = 0;
  const auto count = [&](error_code, Outcome) {
    if (strand.running_in_this_thread()) ++on_strand;
  };
  async_acquire(this->limiter, 1, net::bind_executor(strand, count));
  async_acquire(this->limiter, 1, net::bind_executor(strand, count));
  async_acquire(this->limiter, 2, net::bind_executor(strand, count));
  this->at(1s);
  this->io.run();
  EXPECT_EQ(on_strand, 3);
}

TYPED_TEST(AsioAcquire, WithoutAnExecutorCompletesOnTheSystems) {
  std::promise<std::thread::id> thread;
  async_acquire(this->limiter, 1,
                [&](error_code, Outcome) { thread.set_value(std::this_thread::get_id()); });
  EXPECT_NE(thread.get_future().get(), std::this_thread::get_id());
}

struct Tally {
  std::size_t taken = 0;
  std::size_t held = 0;
  std::size_t most = 1'000;
};

template <typename Value>
struct Counting {
  using value_type = Value;

  explicit Counting(Tally& counts) noexcept : tally(&counts) {}
  template <typename Other>
  Counting(const Counting<Other>& other) noexcept : tally(other.tally) {}

  Value* allocate(std::size_t count) {
    if (tally->taken == tally->most) throw std::bad_alloc();
    ++tally->taken;
    ++tally->held;
    return std::allocator<Value>().allocate(count);
  }
  void deallocate(Value* at, std::size_t count) noexcept {
    --tally->held;
    std::allocator<Value>().deallocate(at, count);
  }
  bool operator==(const Counting&) const = default;

  Tally* tally;
};

TYPED_TEST(AsioAcquire, TakesAllMemoryFromTheHandlersAllocatorAndGivesItBackBeforeTheHandler) {
  Tally tally;
  std::vector<std::size_t> held;
  const auto note = [&](error_code, Outcome) { held.push_back(tally.held); };
  this->begin(net::bind_allocator(Counting<char>(tally), note));
  this->io.run();
  EXPECT_EQ(tally.taken, 2u) << "the operation, and what is posted";
  this->begin(net::bind_allocator(Counting<char>(tally), note));
  EXPECT_EQ(tally.held, 2u) << "the operation, and the timer's wait";
  this->at(1s);
  this->io.restart();
  this->io.run();
  EXPECT_EQ(held, (std::vector<std::size_t>{0, 0}));
}

TYPED_TEST(AsioAcquire, WithoutMemoryNothingIsTakenAndTheSlotIsLeftEmpty) {
  for (const bool free : {true, false}) {
    for (const std::size_t most : {0u, 1u}) {
      SCOPED_TRACE(most);
      typename TestFixture::Limiter own{this->settings(1, 1), ManualClock(this->time)};
      if (!free) {
        ASSERT_TRUE(own.try_acquire());
      }
      Tally tally{.most = most};
      net::cancellation_signal signal;
      Answer never_told;
      const auto begin = [&] {
        async_acquire(own, 1,
                      net::bind_cancellation_slot(
                          signal.slot(),
                          net::bind_allocator(Counting<char>(tally),
                                              net::bind_executor(this->io, keep(never_told)))));
      };
      EXPECT_THROW(begin(), std::bad_alloc);
      EXPECT_EQ(tally.held, 0u);
      EXPECT_FALSE(signal.slot().has_handler());
      EXPECT_EQ(own.waiting(), 0u);
      this->io.poll();
      EXPECT_FALSE(never_told);
    }
  }
}

TYPED_TEST(AsioAcquire, AContextThatEndsGivesPlacesBackAndLeaksNothing) {
  Tally tally;
  auto witness = std::make_shared<int>();
  Answer never_told;
  {
    net::io_context ends;
    const auto handler = [witness, &never_told](error_code error, Outcome outcome) {
      never_told.emplace(error, outcome);
    };
    for (int count = 0; count < 5; ++count) {
      async_acquire(this->limiter, 1,
                    net::bind_allocator(Counting<char>(tally), net::bind_executor(ends, handler)));
    }
    EXPECT_EQ(this->limiter.waiting(), 4u);
    EXPECT_EQ(witness.use_count(), 7);
  }
  EXPECT_FALSE(never_told);
  EXPECT_EQ(witness.use_count(), 1);
  EXPECT_EQ(tally.held, 0u);
  EXPECT_EQ(this->limiter.waiting(), 0u);
  this->at(1s);
  EXPECT_TRUE(this->limiter.try_acquire());
}

TYPED_TEST(AsioAcquire, ACoroutineThatIsDestroyedWithItsContextGivesItsPlaceBack) {
  this->use_up();
  {
    net::io_context ends;
    net::co_spawn(
        ends,
        [&]() -> net::awaitable<void> {
          static_cast<void>(co_await async_acquire(this->limiter, 1, net::use_awaitable));
        },
        net::detached);
    ends.poll();
    EXPECT_EQ(this->limiter.waiting(), 1u);
  }
  EXPECT_EQ(this->limiter.waiting(), 0u);
}

TYPED_TEST(AsioAcquire, AHandlerMayBeginTheNext) {
  int left = 3;
  struct Again {
    TestFixture& test;
    int& remaining;
    void operator()(error_code, Outcome outcome) const {
      ASSERT_TRUE(outcome);
      if (--remaining > 0) test.begin(*this);
      test.time.advance(1s);
    }
  };
  this->begin(Again{*this, left});
  this->io.run();
  EXPECT_EQ(left, 0);
}

struct Heard {
  std::vector<Outcome>* outcomes;
  void operator()(Cost, const Outcome& outcome) const { outcomes->push_back(outcome); }
};

TEST(AsioAcquireListener, HearsEachAnswerOnceBeforeTheHandler) {
  ManualTime time(SteadyInstant{1h});
  std::vector<Outcome> heard;
  BasicLimiter<AtomicWord, ManualClock, Heard> limiter({.count = 1, .period = 1s, .burst = 1},
                                                       ManualClock(time), Heard{&heard});
  net::io_context io;
  std::vector<std::size_t> before;
  for (const Cost cost : {1, 1, 2}) {
    async_acquire(limiter, cost, net::bind_executor(io, [&](error_code, Outcome) {
                    before.push_back(heard.size());
                  }));
  }
  time.advance(1s);
  io.run();
  EXPECT_EQ(before, (std::vector<std::size_t>{1, 2, 3}));
}

}  // namespace
}  // namespace weir
