// A store's calls, as long as they are answered.
#pragma once

#include <memory>
#include <string>

#include "redis/script_caller.hpp"
#include "redis/store_breaker.hpp"
#include "weir/redis/policy.hpp"
#include "weir/redis/store.hpp"

namespace weir::redis {

/// Sends calls where the breaker lets them, and tells the breaker how they ended. What is not let
/// through, or has no time left, ends `not_sent`.
///
/// Threads  safe from any
class WatchedStore : public std::enable_shared_from_this<WatchedStore> {
 public:
  using Now = ScriptCaller::Now;

  /// The store must outlive all calls.
  WatchedStore(Store& store, const Policy& policy, Now now);

  void call(ScriptCaller::Call&& call, Store::Then&& then);

  /// Has the key deleted.
  void erase(const std::string& key, SteadyInstant deadline_at, Store::Then&& then);

  Circuit circuit() const { return breaker_.circuit(); }

 private:
  /// Calls `send` with whom to tell.
  template <typename Send>
  void guarded(Store::Then&& then, Send&& send);

  Store& store_;
  Now now_;
  ScriptCaller caller_;
  StoreBreaker breaker_;
};

}  // namespace weir::redis
