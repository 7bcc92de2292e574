// Waiting as an asynchronous operation of Asio: callbacks, futures, coroutines. This, asio.hpp and
// asio_concurrency.hpp need more than the standard library: Boost.Asio 1.81 or later, or Asio by
// itself where ASIO_STANDALONE is defined.
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

#include "weir/steady_instant.hpp"

namespace weir {

namespace asio_wait {

#ifdef ASIO_STANDALONE
namespace net = ::asio;
using ErrorCode = std::error_code;
#else
namespace net = boost::asio;
using ErrorCode = boost::system::error_code;
#endif

/// What an execution context has pending here. A context that ends asks its services in turn,
/// the youngest first: this one is younger than that of the timers, so when they go, no operation
/// of the context is in any line, and no other thread moves one.
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

/// One operation: a place in line, its timer and its handler. `Waiting` is the place; it knows
///
///   Wanted                what is wanted, and of whom
///   begin(now)            asks; whether it has to wait
///   look(now)             asks again; whether it has to wait on
///   stop(now)             the same, and gives its place back where it still can
///   let_go()              it ends untold: gives back its place, or what it was let have
///   next_look(now)        how long to wait until then, if it is not moved before
///   error(), result()     what it completes with, once it waits no more
///
/// Whoever is to look at it next owns it: the timer's wait, or a posted Look. So an execution
/// context that ends with its handlers ends this too; the place was given back before.
///
/// The timer is the one part that other threads touch, to end its wait early: when the place moves
/// they hold the lock of the line. So nothing here asks the line under mutex_, and moving a place
/// neither allocates nor runs a handler.
template <typename Waiting, typename Handler>
class Operation final : private Waiting, private PendingOperations::Member {
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
  using Wanted = typename Waiting::Wanted;

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
      : Waiting(wanted),
        Member(with_timers(net::get_associated_executor(handler))),
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

  void abandon() noexcept override { this->let_go(); }

  /// What runs on the operation's executor when its timer or its first turn has come.
  struct Look {
    using executor_type = Executor;
    using allocator_type = HandlerAllocator;

    executor_type get_executor() const noexcept { return owner->timer_.get_executor(); }
    allocator_type get_allocator() const noexcept { return owner->allocator_; }
    // Whether the wait ended early does not matter: the line knows how the place stands.
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
    const SteadyInstant at = this->now();
    const bool waits = Waiting::begin(at);
    // Before the operation can end on another thread.
    auto slot = net::get_associated_cancellation_slot(handler_);
    if (slot.is_connected()) slot.assign(Stop{*this});
    try {
      if (waits) {
        wait(std::move(owner), this->next_look(at));
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
      timer_.expires_after(hurried ? std::chrono::nanoseconds{0} : left);
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
    const SteadyInstant at = this->now();
    if (stopped ? Waiting::stop(at) : Waiting::look(at)) {
      wait(std::move(owner), this->next_look(at));
    } else {
      complete(std::move(owner));
    }
  }

  void complete(Owner owner) {
    auto slot = net::get_associated_cancellation_slot(handler_);
    if (slot.is_connected()) slot.clear();
    const ErrorCode error = this->error();
    auto result = this->result();
    Handler handler(std::move(handler_));
    owner.reset();  // its memory is free for what the handler begins
    std::move(handler)(error, std::move(result));
  }

  void moved() noexcept override {
    const std::lock_guard lock(mutex_);
    hurry();
  }

  void hurry() {
    hurried_ = true;
    timer_.cancel();
  }

  std::mutex mutex_;  ///< for the timer, and:
  bool hurried_ = false;
  bool stopped_ = false;
  bool begins_to_wait_ = false;
  Timer timer_;

  [[no_unique_address]] Allocator allocator_;
  Handler handler_;
};

}  // namespace asio_wait

}  // namespace weir
