// Any limit for each of many keys, kept in a Redis: what redis::Limiter is made of.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "weir/limit.hpp"
#include "weir/redis/outcome.hpp"
#include "weir/redis/policy.hpp"
#include "weir/redis/store.hpp"

namespace weir::redis {

/// Limits in one store under one policy: one breaker, one memory of denials, one fallback. Limiters
/// that share it can be asked together.
///
/// The store must outlive the limiters and what they began.
///
/// Threads  safe from any thread
/// Errors   std::invalid_argument for a policy whose numbers make none
class Limits {
 public:
  explicit Limits(Store& store, const Policy& policy = {});
  ~Limits();
  Limits(const Limits&) = delete;
  Limits& operator=(const Limits&) = delete;

 private:
  friend class SharedLimit;
  class Body;
  std::unique_ptr<Body> body_;
};

/// One limit for each key, by the bytes of the key.
///
/// Every verb has two forms. One is told whom to call: on the store's thread, or before the verb
/// returns; who is called must not block or throw. The other waits for the answer, the policy's
/// deadline at most; called by who was called back it would wait for itself, so there it refuses
/// (Source::closed) and says so.
///
/// Threads  safe from any thread; destroyed with calls under way, those still end
/// Errors   std::invalid_argument for a limit that no store can keep; bad_alloc
class SharedLimit {
 public:
  using Then = std::function<void(Outcome&&)>;
  using ThenAll = std::function<void(Joint&&)>;
  using ThenGiven = std::function<void(Gift&&)>;

  /// How long a request over Redis is let wait; the scripts grant no longer patience.
  static constexpr std::chrono::nanoseconds longest_wait = std::chrono::minutes{1};

  SharedLimit(std::shared_ptr<Limits> limits, const Limit& limit);

  /// What is wanted of a key: so much, within so long.
  struct Ask {
    Cost cost = 1;
    std::chrono::nanoseconds patience{0};
  };
  void take(std::string_view key, const Ask& ask, Then then) const;
  Outcome take(std::string_view key, const Ask& ask) const;
  void peek(std::string_view key, const Ask& ask, Then then) const;
  Outcome peek(std::string_view key, const Ask& ask) const;

  /// Takes, and sleeps until it may act; a stop gives the place back.
  Outcome acquire(std::string_view key, const Ask& ask, const std::stop_token& stop) const;

  void cancel(std::string_view key, const Outcome& taken, ThenGiven then) const;
  Gift cancel(std::string_view key, const Outcome& taken) const;
  void refund(std::string_view key, Cost units, ThenGiven then) const;
  Gift refund(std::string_view key, Cost units) const;
  void reset(std::string_view key, ThenGiven then) const;
  Gift reset(std::string_view key) const;
  void leave(std::string_view key, PermitId permit, ThenGiven then) const;
  Gift leave(std::string_view key, PermitId permit) const;
  void renew(std::string_view key, PermitId permit, ThenGiven then) const;
  Gift renew(std::string_view key, PermitId permit) const;

  /// A key's part in a request over several.
  struct Claim {
    const SharedLimit* limit;
    std::string key;
    Cost cost = 1;
  };
  /// All or none. Throws std::invalid_argument unless there are 1 to 16 claims of one Limits.
  static void take_all(std::span<const Claim> claims, ThenAll then);
  static Joint take_all(std::span<const Claim> claims);

 private:
  struct Kept;
  std::shared_ptr<const Kept> kept_;  ///< by calls under way too
};

}  // namespace weir::redis
