// One fault, from before it until after it, under load.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "test/fault/store/figures.hpp"
#include "test/fault/store/load.hpp"

namespace weir::test {

/// How long things last: seconds for a change's tests, more for the figures that are published.
struct Scale {
  std::chrono::milliseconds before{300};
  std::chrono::milliseconds fault{1000};
  std::chrono::milliseconds after{1500};
  std::chrono::milliseconds probe_every{200};  ///< of the breaker
  /// Above a call's deadline. A machine that builds beside the tests lets threads wait for long.
  std::chrono::milliseconds grace{2000};
};

struct Drill {
  std::string url{};
  Load::Settings load{};
  /// Whether there is a store when the callers begin.
  enum class Begins : std::uint8_t { with_store, without } begins = Begins::with_store;
  std::function<void()> fault{};  ///< begins it; may take its time
  std::function<void()> heal{};   ///< may be none
  /// Where the store is asked what it was charged; empty: not at all.
  std::string count_at{};
  /// What the store itself may let in above the limit; none: nothing is promised.
  std::optional<std::int64_t> excess_bound = 0;
  std::int64_t lost_bound = 0;
  /// Bytes are changed on the way, and no checksum tells: answers may be of no call, or garbled.
  enum class Bytes : std::uint8_t { intact, changed } bytes = Bytes::intact;
  /// Adds what this row alone tells.
  std::function<void(Figures&, const std::vector<Call>&, const Load&)> look{};
};

/// What a share may let in above the limit's own numbers (redis::StandIn).
constexpr std::int64_t share_bound = 2;

/// What accounts are charged in a second, at most.
constexpr std::int64_t charges_a_second = 2000;

Load::Settings load_of(const Scale& scale, const std::string& url);

/// Runs it, and holds what came of it to the promises that every row has.
Figures run(const Scale& scale, const Drill& drill);

/// Holds what the store was charged against what it granted.
void balance(Figures& figures, const std::vector<Call>& calls, std::int64_t in_store);

/// Holds what was let in against the limit's bound.
void judge_excess(Figures& figures, const std::vector<Call>& calls);

/// Notes a promise that was not kept.
void require(Figures& figures, const char* promise, const std::function<bool()>& kept);

}  // namespace weir::test
