// Limits that many processes share: their states lie in a Redis.
#pragma once

#include <chrono>
#include <initializer_list>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weir/local/key_name.hpp"
#include "weir/redis/awaiting.hpp"
#include "weir/redis/limits.hpp"

namespace weir::redis {

/// The bytes that stand for a key in a store. Numbers are written in digits, so that every machine
/// and every language writes them alike.
template <KeyType Key>
auto stored_bytes(KeyArgument<Key> key) {
  if constexpr (!NumberKey<Key> || HasKeyBytes<Key>) {
    return bytes_of<Key>(key);
  } else if constexpr (std::is_enum_v<Key>) {
    return std::to_string(static_cast<std::underlying_type_t<Key>>(key));
  } else {
    return std::to_string(key);
  }
}

/// Any limit that has a text, for each key, shared by all processes that ask one Redis:
///
///   auto store = weir::redis::Client::connect("redis://127.0.0.1").value();
///   weir::redis::Limiter per_user(*store, "5/1m", {.members = 4});
///   if (const auto outcome = per_user.try_acquire(user); !outcome) {
///     return reply_429(outcome.wait(std::chrono::steady_clock::now()));
///   }
///
/// A script decides in the store, by the store's clock, as a KeyedLimiter would. Where the store
/// does not answer by the policy's deadline, the policy decides; Outcome::source says who did.
///
///   try_acquire      now or not at all
///   try_acquire_for  takes its turn within so long, and sleeps until it has come
///   acquire          the same, however long it takes
///   peek             tells, takes nothing
///   cancel           gives back a turn that has not come yet
///   refund           gives back units that were not used
///   reset            forgets what a key took
///   leave, renew     a permit of a concurrency limit: given back, kept for longer
///
/// Each waits for its reply, or calls a function that it is given; a coroutine awaits
/// async_try_acquire(). SharedLimit says on which thread, and what may be done there.
///
/// Bound    the limit's own over all processes while the store answers; beside it what Policy says
/// Cost     a round trip
/// Threads  safe from any thread
/// Errors   the constructors throw std::invalid_argument for a text that is no limit, or none that
///          a store can keep, and for a policy whose numbers make none. Verbs throw bad_alloc alone
template <KeyType Key = std::string_view>
class Limiter {
 public:
  using Argument = KeyArgument<Key>;
  using Then = SharedLimit::Then;
  using ThenGiven = SharedLimit::ThenGiven;

  /// The store must outlive the limiter, and what it began.
  Limiter(Store& store, std::string_view limit, const Policy& policy = {})
      : Limiter(std::make_shared<Limits>(store, policy), limit) {}
  /// One that can be asked together with others of the same Limits.
  Limiter(std::shared_ptr<Limits> limits, std::string_view limit)
      : limit_(std::move(limits), Limit::of(limit)) {}

  Outcome try_acquire(Argument key, Cost cost = 1) const {
    return limit_.take(stored_bytes<Key>(key), {.cost = cost});
  }
  void try_acquire(Argument key, Cost cost, Then then) const {
    limit_.take(stored_bytes<Key>(key), {.cost = cost}, std::move(then));
  }
  /// `co_await` it: an Outcome. With patience it may be deferred: taken, to act at ready_at.
  Awaiting async_try_acquire(Argument key, Cost cost = 1,
                             std::chrono::nanoseconds patience = {}) const {
    return {limit_, std::string(stored_bytes<Key>(key)), {.cost = cost, .patience = patience}};
  }

  Outcome try_acquire_for(Argument key, Cost cost, std::chrono::nanoseconds timeout,
                          const std::stop_token& stop = {}) const {
    return limit_.acquire(stored_bytes<Key>(key), {.cost = cost, .patience = timeout}, stop);
  }
  Outcome acquire(Argument key, Cost cost = 1, const std::stop_token& stop = {}) const {
    return try_acquire_for(key, cost, std::chrono::nanoseconds::max(), stop);
  }

  /// What try_acquire() would answer, and how the key stands.
  Outcome peek(Argument key, Cost cost = 1) const {
    return limit_.peek(stored_bytes<Key>(key), {.cost = cost});
  }
  void peek(Argument key, Cost cost, Then then) const {
    limit_.peek(stored_bytes<Key>(key), {.cost = cost}, std::move(then));
  }

  /// Of a grant whose instant has not come, or of a permit. Once: the store keeps no list.
  Gift cancel(Argument key, const Outcome& taken) const {
    return limit_.cancel(stored_bytes<Key>(key), taken);
  }
  void cancel(Argument key, const Outcome& taken, ThenGiven then) const {
    limit_.cancel(stored_bytes<Key>(key), taken, std::move(then));
  }
  /// The units that were still owed, and are not any more.
  Gift refund(Argument key, Cost units) const {
    return limit_.refund(stored_bytes<Key>(key), units);
  }
  void refund(Argument key, Cost units, ThenGiven then) const {
    limit_.refund(stored_bytes<Key>(key), units, std::move(then));
  }
  /// 1 where something was kept for the key.
  Gift reset(Argument key) const { return limit_.reset(stored_bytes<Key>(key)); }
  void reset(Argument key, ThenGiven then) const {
    limit_.reset(stored_bytes<Key>(key), std::move(then));
  }

  Gift leave(Argument key, PermitId permit) const {
    return limit_.leave(stored_bytes<Key>(key), permit);
  }
  void leave(Argument key, PermitId permit, ThenGiven then) const {
    limit_.leave(stored_bytes<Key>(key), permit, std::move(then));
  }
  Gift renew(Argument key, PermitId permit) const {
    return limit_.renew(stored_bytes<Key>(key), permit);
  }
  void renew(Argument key, PermitId permit, ThenGiven then) const {
    limit_.renew(stored_bytes<Key>(key), permit, std::move(then));
  }

  /// A key's part in try_acquire_all().
  SharedLimit::Claim claim(Argument key, Cost cost = 1) const {
    return {&limit_, std::string(stored_bytes<Key>(key)), cost};
  }

  const SharedLimit& shared() const noexcept { return limit_; }

 private:
  SharedLimit limit_;
};

/// Several keys under several limits, all or none. A key that is named twice under one limiter pays
/// for both. In a cluster, keys of several slots are taken in turn and given back where a later one
/// refuses: Joint::atomic tells.
///
///   weir::redis::try_acquire_all({per_user.claim(user), per_address.claim(address)});
///
/// Throws std::invalid_argument unless there are 1 to 16 claims, all of one Limits.
inline Joint try_acquire_all(std::initializer_list<SharedLimit::Claim> claims) {
  return SharedLimit::take_all({claims.begin(), claims.size()});
}
inline Joint try_acquire_all(std::span<const SharedLimit::Claim> claims) {
  return SharedLimit::take_all(claims);
}
inline void try_acquire_all(std::span<const SharedLimit::Claim> claims, SharedLimit::ThenAll then) {
  SharedLimit::take_all(claims, std::move(then));
}

}  // namespace weir::redis
