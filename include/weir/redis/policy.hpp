// What a shared limit does when its store is slow, gone or busy.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "weir/vocabulary.hpp"

namespace weir::redis {

/// Who decided.
enum class Source : std::uint8_t {
  store,     ///< the script, now
  cache,     ///< a denial of the store's, which still holds
  lease,     ///< units that the store granted ahead
  fallback,  ///< the store is not there: this process alone, on its share of the limit
  open,      ///< the store is not there: let in, by policy
  closed,    ///< the store is not there: refused, by policy
};

constexpr const char* name(Source source) noexcept {
  constexpr const char* names[] = {"store", "cache", "lease", "fallback", "open", "closed"};
  return names[static_cast<std::uint8_t>(source)];
}

enum class WithoutStore : std::uint8_t {
  share,   ///< decide here, on limit / members
  open,    ///< let everything in
  closed,  ///< let nothing in
};

/// Units taken ahead: fewer round trips for keys that are asked for often.
///
/// Bound    in any span at most the limit's own bound, and the units that members held when it
///          began: at most `members * most_units`
struct LeaseSettings {
  Cost most_units = 100;                                               ///< at once, of one key; > 0
  std::chrono::nanoseconds kept_for = std::chrono::milliseconds{100};  ///< then what is left of it
                                                                       ///< is given back
  std::size_t keys = 10'000;  ///< that may have one at the same time
};

struct Policy {
  /// No call takes longer than this (and a timer's grain): then `without_store` decides. An hour at
  /// most.
  std::chrono::nanoseconds deadline = std::chrono::milliseconds{5};
  WithoutStore without_store = WithoutStore::share;
  /// How many processes share the limit; > 0. When cut off from the store each lets in its share.
  std::uint32_t members = 1;
  std::size_t keys = 1'000'000;  ///< most that are kept here while the store is gone

  /// Out of the last `calls` calls so many without an answer, and the store is left alone: then one
  /// call in `probe_every` is sent to see.
  struct Breaker {
    std::uint32_t failures = 5;
    std::uint32_t calls = 20;
    std::chrono::nanoseconds probe_every = std::chrono::seconds{1};
  };
  Breaker breaker{};

  std::size_t remembered_denials = 65'536;  ///< 0: every request asks the store
  std::optional<LeaseSettings> lease{};
};

}  // namespace weir::redis
