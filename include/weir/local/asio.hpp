// Waiting for a limiter as an asynchronous operation of Asio: callbacks, futures, coroutines. The
// one header of the library that needs more than the standard library: Boost.Asio 1.81 or later,
// or Asio by itself where ASIO_STANDALONE is defined.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <utility>

#ifdef ASIO_STANDALONE
#include <asio/associated_allocator.hpp>
#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/basic_waitable_timer.hpp>
#include <asio/error.hpp>
#include <asio/execution/context.hpp>
#include <asio/execution_context.hpp>
#include <asio/post.hpp>
#include <asio/query.hpp>
#else
#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>
#endif

#include "weir/local/limiter.hpp"

namespace weir {

namespace asio_acquire {

#ifdef ASIO_STANDALONE
namespace net = ::asio;
using ErrorCode = std::error_code;
#else
namespace net = boost::asio;
using ErrorCode = boost::system::error_code;
#endif

/// What an execution context has pending here. A context that ends asks its services in turn,
/// the youngest first: this one is younger than that of the timers, so when they go, no operation
/// of the context is in any limiter's line, and no other thread moves one.
class PendingOperations final : public net::execution_context::service {
 public:
  static inline net::execution_context::id id;

  class Member {
   public:
    explicit Member(net::execution_context& context)
        : all_(net::use_service<PendingOperations>(context)) {
      const std::lock_guard lock(all_.mutex_);
      behind_ = std::exchange(all_.first_, this);
      if (behind_) behind_->before_ = this;
    }
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

    virtual void abandon() noexcept = 0;

   protected:
    ~Member() {
      const std::lock_guard lock(all_.mutex_);
      (before_ ? before_->behind_ : all_.first_) = behind_;
      if (behind_) behind_->before_ = before_;
    }

   private:
    friend PendingOperations;
    PendingOperations& all_;
    Member* before_ = nullptr;
    Member* behind_ = nullptr;
  };

  explicit PendingOperations(net::execution_context& context) : service(context) {}

 private:
  void shutdown() noexcept override {
    const std::lock_guard lock(mutex_);
    for (Member* member = first_; member; member = member->behind_) member->abandon();
  }

  std::mutex mutex_;
  Member* first_ = nullptr;
};

/// One operation: its place in line, its timer and its handler.
///
/// Whoever is to look at it next owns it: the timer's wait, or a posted Look. So an execution
/// context that ends with its handlers ends this too; the place was given back before.
///
/// The timer is the one part that other threads touch, to end its wait early: when the place moves
/// they hold the limiter's lock. So nothing here asks the limiter under mutex_, and moving a place
/// neither allocates nor runs a handler.
template <typename AnyLimiter, typename Clock, typename Handler>
class Operation final : private Place, private PendingOperations::Member {
  using Executor = net::associated_executor_t<Handler>;
  using HandlerAllocator = net::associated_allocator_t<Handler>;
  using Allocator =
      typename std::allocator_traits<HandlerAllocator>::template rebind_alloc<Operation>;
  using Traits = std::allocator_traits<Allocator>;

  struct Free {
    void operator()(Operation* operation) const noexcept {
      if (operation->begins_to_wait_) return;
      Allocator allocator(operation->allocator_);
      Traits::destroy(allocator, operation);
      Traits::deallocate(allocator, operation, 1);
    }
  };
  using Owner = std::unique_ptr<Operation, Free>;

 public:
  struct Wanted {
    AnyLimiter& limiter;
    Cost cost;
    std::chrono::nanoseconds within;
  };

  static void start(Handler&& handler, const Wanted& wanted) {
    Allocator allocator(net::get_associated_allocator(handler));
    Operation* const room = Traits::allocate(allocator, 1);
    try {
      Traits::construct(allocator, room, std::move(handler), wanted);
    } catch (...) {
      Traits::deallocate(allocator, room, 1);
      throw;
    }
    room->begin(Owner(room));
  }

  Operation(Handler&& handler, const Wanted& wanted)
      : Place(Kind::waiter),
        Member(with_timers(net::get_associated_executor(handler))),
        wanted_(wanted),
        timer_(net::get_associated_executor(handler)),
        allocator_(net::get_associated_allocator(handler)),
        handler_(std::move(handler)) {}

  ~Operation() { abandon(); }

 private:
  using Timer = net::basic_waitable_timer<std::chrono::steady_clock,
                                          net::wait_traits<std::chrono::steady_clock>, Executor>;

  /// The executor's context, whose timers are in service from here on.
  static net::execution_context& with_timers(const Executor& executor) {
    const Timer first(executor);
    return net::query(executor, net::execution::context);
  }

  void abandon() noexcept override {
    if (std::exchange(waits_, false)) static_cast<void>(host().leave(*this, now()));
  }

  /// What runs on the operation's executor when its timer or its first turn has come.
  struct Look {
    using executor_type = Executor;
    using allocator_type = HandlerAllocator;

    executor_type get_executor() const noexcept { return owner->timer_.get_executor(); }
    allocator_type get_allocator() const noexcept { return owner->allocator_; }
    // Whether the wait ended early does not matter: the limiter knows how the place stands.
    void operator()(ErrorCode = {}) {
      Operation& operation = *owner;
      operation.look(std::move(owner));
    }

    Owner owner;
  };

  /// What the cancellation slot calls. A place that is given back leaves nothing behind, so every
  /// kind of cancellation is honoured.
  struct Stop {
    Operation& operation;
    void operator()(net::cancellation_type type) const {
      if (type == net::cancellation_type::none) return;
      const std::lock_guard lock(operation.mutex_);
      operation.stopped_ = true;
      operation.hurry();
    }
  };

  void begin(Owner owner) {
    const SteadyInstant at = now();
    outcome_ = host().take_or_join(*this, at, {wanted_.cost, wanted_.within});
    waits_ = outcome_.verdict == Verdict::deferred;
    give_up_at_ =
        wanted_.within < SteadyInstant::max() - at ? at + wanted_.within : SteadyInstant::max();
    // Before the operation can end on another thread.
    auto slot = net::get_associated_cancellation_slot(handler_);
    if (slot.is_connected()) slot.assign(Stop{*this});
    try {
      if (waits_) {
        wait(std::move(owner), outcome_.wait(at));
      } else {
        net::post(Look{std::move(owner)});
      }
    } catch (...) {
      if (slot.is_connected()) slot.clear();
      throw;
    }
  }

  void wait(Owner owner, std::chrono::nanoseconds left) {
    try {
      // Until this is free nobody else ends the operation: look() begins with it.
      const std::lock_guard lock(mutex_);
      const bool hurried = std::exchange(hurried_, false);
      timer_.expires_after(hurried ? std::chrono::nanoseconds{0} : until_next_look<Clock>(left));
      begins_to_wait_ = true;  // and a wait that finds no memory must not end it under its lock
      timer_.async_wait(Look{std::move(owner)});
      begins_to_wait_ = false;
    } catch (...) {
      begins_to_wait_ = false;
      Free()(this);
      throw;
    }
  }

  void look(Owner owner) {
    bool stopped;
    {
      const std::lock_guard lock(mutex_);
      stopped = stopped_;
      hurried_ = false;
    }
    const SteadyInstant at = now();
    if (waits_ && stopped && give_back(at)) {
      outcome_ = {Verdict::denied, Refusal::stopped, outcome_.ready_at};
    } else if (waits_) {
      outcome_ = host().look(*this, at);
      waits_ = outcome_.verdict == Verdict::deferred;
      if (waits_ && (outcome_.ready_at <= give_up_at_ || !give_back(at))) {
        wait(std::move(owner), outcome_.wait(at));
        return;
      }
      if (outcome_.verdict == Verdict::deferred) {
        outcome_ = {Verdict::denied, Refusal::limit, outcome_.ready_at};
      }
    }
    complete(std::move(owner));
  }

  bool give_back(SteadyInstant at) {
    if (!host().leave(*this, at)) return false;
    waits_ = false;
    return true;
  }

  void complete(Owner owner) {
    auto slot = net::get_associated_cancellation_slot(handler_);
    if (slot.is_connected()) slot.clear();
    wanted_.limiter.listener()(wanted_.cost, outcome_);
    const Outcome outcome = outcome_;
    const ErrorCode error = outcome.refusal == Refusal::stopped
                                ? ErrorCode(net::error::operation_aborted)
                                : ErrorCode();
    Handler handler(std::move(handler_));
    owner.reset();  // its memory is free for what the handler begins
    std::move(handler)(error, outcome);
  }

  void moved() noexcept override {
    const std::lock_guard lock(mutex_);
    hurry();
  }

  void hurry() {
    hurried_ = true;
    timer_.cancel();
  }

  auto& host() noexcept { return wanted_.limiter.host(); }
  SteadyInstant now() const noexcept { return wanted_.limiter.clock().now(); }

  const Wanted wanted_;
  Outcome outcome_;
  SteadyInstant give_up_at_{};
  bool waits_ = false;

  std::mutex mutex_;  ///< for the timer, and:
  bool hurried_ = false;
  bool stopped_ = false;
  bool begins_to_wait_ = false;
  Timer timer_;

  [[no_unique_address]] Allocator allocator_;
  Handler handler_;
};

}  // namespace asio_acquire

/// Waits for its turn, at most so long, for any completion token: it refuses at once where the wait
/// would be in vain. Completes with (error_code, Outcome). A refusal is no error, the outcome tells
/// it; the one error is operation_aborted, with Refusal::stopped.
///
/// It takes its place when it is initiated, first come, first served with all who wait for the
/// limiter, and goes by a timer of the handler's executor: bind_executor(io, token) where the token
/// brings none, or it is the system's. It completes there, never from within this call and never
/// under a lock, and takes its memory from the handler's allocator.
///
/// Until its instant, cancellation of any kind gives the place back, and whoever stands behind it
/// moves up; so does the end of the execution context. After its instant it completes as granted:
/// what was let pass cannot be given to another without breaking the bound.
///
/// Threads  as any operation of Asio: cancel where the handler would run. The execution context
///          must not be told that one thread alone uses it (BOOST_ASIO_CONCURRENCY_HINT_UNSAFE and
///          UNSAFE_IO) where other threads use the limiter.
/// Cost     one allocation, and that of the timer's wait; the context locked as it begins and ends
/// Errors   what the handler's allocator throws, from this call; what was free is then lost
/// Requires the limiter to outlive the operation: destroy the execution context first
template <typename Keeper, typename Clock, typename Listener, typename Token>
auto async_acquire_for(BasicLimiter<Keeper, Clock, Listener>& limiter, Cost cost,
                       std::chrono::nanoseconds timeout, Token&& token) {
  using AnyLimiter = BasicLimiter<Keeper, Clock, Listener>;
  return asio_acquire::net::async_initiate<Token, void(asio_acquire::ErrorCode, Outcome)>(
      [](auto handler, AnyLimiter* from, Cost units, std::chrono::nanoseconds within) {
        using Operation = asio_acquire::Operation<AnyLimiter, Clock, decltype(handler)>;
        Operation::start(std::move(handler), {*from, units, within});
      },
      token, &limiter, cost, timeout);
}

/// The same, however long it takes: `co_await async_acquire(limiter, 1, use_awaitable)`.
template <typename Keeper, typename Clock, typename Listener, typename Token>
auto async_acquire(BasicLimiter<Keeper, Clock, Listener>& limiter, Cost cost, Token&& token) {
  return async_acquire_for(limiter, cost, limiter.forever, std::forward<Token>(token));
}

}  // namespace weir
