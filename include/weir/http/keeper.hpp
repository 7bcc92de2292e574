// Who keeps the counts of access limits: this process, or a store.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "weir/local/clocks.hpp"
#include "weir/local/keyed_limiter.hpp"

namespace weir::http {

/// What became of a call.
struct Taken {
  bool admitted = false;
  /// Then the same call would be admitted; max() where nobody knows.
  std::chrono::nanoseconds retry_after{0};
  bool unavailable = false;  ///< refused, and nobody counted: as a store's policy `closed` wants
};

/// Takes one call of a key, from any thread.
using Take = std::function<Taken(std::string_view key)>;

/// Begins to keep a limit, told by its text. May throw std::invalid_argument for one that it cannot
/// keep.
using Keeper = std::function<Take(std::string_view limit)>;

/// Keeps each limit in a limiter that `make` makes of its text: a pointer to a KeyedLimiter of
/// texts, to a redis::Limiter, or to anything that has their try_acquire().
///
///   const auto shared = std::make_shared<weir::redis::Limits>(store);
///   weir::http::kept_in([shared](std::string_view limit) {
///     return std::make_unique<weir::redis::Limiter<>>(shared, limit);
///   });
template <typename Make>
Keeper kept_in(Make make) {
  return [make = std::move(make)](std::string_view limit) -> Take {
    return [limiter = std::shared_ptr(make(limit))](std::string_view key) -> Taken {
      const auto told = [](const auto& outcome, SteadyInstant now) -> Taken {
        if (outcome) return {.admitted = true};
        const bool known = outcome.ready_at != SteadyInstant::max();
        Taken taken{.retry_after = known ? outcome.wait(now) : std::chrono::nanoseconds::max()};
        if constexpr (requires { outcome.source; }) {
          taken.unavailable = outcome.source == decltype(outcome.source)::closed;
        }
        return taken;
      };
      if constexpr (requires { limiter->clock(); }) {
        const SteadyInstant now = limiter->clock().now();
        return told(limiter->try_acquire(key, 1, now), now);
      } else {
        const auto outcome = limiter->try_acquire(key, 1);
        return told(outcome, SteadyClock{}.now());
      }
    };
  };
}

/// In this process: all limits in one table, whose size bounds them together.
inline Keeper kept_here(const Table::Settings& settings = {.max_keys = 100'000}) {
  return kept_in([store = std::make_shared<KeyedStore>(settings)](std::string_view limit) {
    return std::make_unique<KeyedLimiter<std::string_view>>(store, limit);
  });
}

}  // namespace weir::http
