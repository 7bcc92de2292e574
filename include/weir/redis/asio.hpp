// Asking a limiter over a store as an asynchronous operation of Asio.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "weir/local/asio_operation.hpp"
#include "weir/redis/limiter.hpp"

#ifdef ASIO_STANDALONE
#include <asio/executor_work_guard.hpp>
#else
#include <boost/asio/executor_work_guard.hpp>
#endif

namespace weir::redis {

namespace asio_answer {

namespace net = weir::asio_wait::net;

/// Whom to tell, where. The store's thread brings the answer; the handler's executor has it.
template <typename Handler>
class Handing {
 public:
  explicit Handing(Handler&& handler)
      : work_(net::get_associated_executor(handler)), handler_(std::move(handler)) {}

  void hand(Outcome&& outcome) {
    const auto executor = work_.get_executor();
    net::post(executor, [handler = std::move(handler_), told = std::move(outcome)]() mutable {
      std::move(handler)(std::move(told));
    });
    work_.reset();
  }

 private:
  net::executor_work_guard<net::associated_executor_t<Handler>> work_;
  Handler handler_;
};

}  // namespace asio_answer

/// Asks for `cost` now or not at all, for any completion token; completes with an Outcome:
///
///   const auto outcome = co_await async_try_acquire(per_user, user, 1, net::use_awaitable);
///
/// It completes on the handler's executor, never from within this call: after the policy's deadline
/// at the latest. It cannot be cancelled; what it takes it has taken.
///
/// Errors   bad_alloc, from this call
/// Requires the execution context to be there until it completes: it is work that run() waits for,
///          so a context that is stopped before is to be kept for a deadline longer
template <KeyType Key, typename Token>
auto async_try_acquire(const Limiter<Key>& limiter, typename Limiter<Key>::Argument key, Cost cost,
                       Token&& token) {
  return asio_answer::net::async_initiate<Token, void(Outcome)>(
      [](auto handler, const SharedLimit& limit, const std::string& bytes, Cost units) {
        using Handing = asio_answer::Handing<decltype(handler)>;
        const auto handing = std::make_shared<Handing>(std::move(handler));
        limit.take(bytes, {.cost = units},
                   [handing](Outcome&& outcome) { handing->hand(std::move(outcome)); });
      },
      token, limiter.shared(), std::string(stored_bytes<Key>(key)), cost);
}

}  // namespace weir::redis
