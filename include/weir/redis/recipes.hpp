// Limits that services keep in a Redis already, in their own keys: docs/redis-recipes.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "weir/redis/outcome.hpp"
#include "weir/redis/policy.hpp"
#include "weir/redis/store.hpp"

namespace weir::redis {

/// What a recipe does where its store does not answer.
struct RecipePolicy {
  /// No call takes longer than this (and a timer's grain): then `without_store` decides.
  std::chrono::nanoseconds deadline = std::chrono::milliseconds{5};
  WithoutStore without_store = WithoutStore::open;  ///< or closed: a recipe has no share
};

/// A counter that expires, as INCR and EXPIRE keep it. The window begins at the first hit.
///
///   weir::redis::IncrWindow per_user(*store, {.limit = 10, .period = 1min});
///   if (!per_user.try_acquire("rate:" + user)) return reply_429();
///
/// A key is the counter's own, whole. A cost of 0 asks without taking. Each verb waits for its
/// answer, or calls a function that it is given: on the store's thread, or before it returns; who
/// is called must not block or throw. Outcome::source says who decided.
///
/// Bound    in each window the limit; in any span of the period twice that less one
/// Cost     a round trip; a second one where the store lacks the script
/// Threads  safe from any thread. The store must outlive calls under way, the limiter need not
/// Errors   the constructor throws std::invalid_argument for settings that make no limit
class IncrWindow {
 public:
  using Then = std::function<void(Outcome&&)>;
  struct Settings {
    Cost limit = 1;                      ///< below 2^53
    std::chrono::microseconds period{};  ///< rounded up to whole milliseconds
    RecipePolicy policy{};
  };

  IncrWindow(Store& store, const Settings& settings);

  Outcome try_acquire(std::string_view key, Cost cost = 1) const;
  void try_acquire(std::string_view key, Cost cost, Then then) const;

 private:
  Store* store_;
  Settings settings_;
};

/// What a sorted set's scores are counted in.
enum class ScoreUnit : std::uint8_t { microseconds, milliseconds, seconds };

/// A sliding log in a sorted set, with a member for each unit. All else as IncrWindow's.
///
/// Bound    in any span of the period the limit
class ZsetLog {
 public:
  using Then = IncrWindow::Then;
  struct Settings {
    Cost limit = 1;  ///< at most 100 000
    std::chrono::microseconds period{};
    ScoreUnit scores = ScoreUnit::milliseconds;  ///< those of who else writes to the log
    RecipePolicy policy{};
  };

  ZsetLog(Store& store, const Settings& settings);

  Outcome try_acquire(std::string_view key, Cost cost = 1) const;
  void try_acquire(std::string_view key, Cost cost, Then then) const;

 private:
  Store* store_;
  Settings settings_;
};

/// The bucket that Spring Cloud Gateway's RedisRateLimiter keeps for an id. All else as
/// IncrWindow's.
///
/// Bound    in t seconds the capacity and rate * (t + 1): tokens come once a second
class SpringBucket {
 public:
  using Then = IncrWindow::Then;
  struct Settings {
    double replenish_rate = 1;  ///< a second
    Cost burst_capacity = 1;    ///< below 2^53
    std::string route{};        ///< the route's id; empty for gateways before 4.2, which have none
    RecipePolicy policy{};
  };

  SpringBucket(Store& store, const Settings& settings);

  Outcome try_acquire(std::string_view id, Cost requested_tokens = 1) const;
  void try_acquire(std::string_view id, Cost requested_tokens, Then then) const;

 private:
  Store* store_;
  Settings settings_;
};

}  // namespace weir::redis
