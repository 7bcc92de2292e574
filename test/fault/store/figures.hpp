// What a fault did to callers, in numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "test/fault/store/load.hpp"

namespace weir::test {

/// Spans in milliseconds; -1 where there is none.
struct Figures {
  std::string row{};
  std::string fault{};

  std::uint64_t calls = 0;
  std::uint64_t by_store = 0;   ///< or by what it had told before (cache, lease)
  std::uint64_t by_policy = 0;  ///< fallback, open, closed
  std::uint64_t timed_out = 0;  ///< of those: it may have been charged
  std::uint64_t misread = 0;    ///< of those: told that the store never will, or garbled
  std::uint64_t mistaken = 0;   ///< answered with what another call was told
  double p50_ms = 0;
  double p99_ms = 0;
  double p999_ms = 0;
  double max_ms = 0;
  double paused_ms = 0;  ///< by so much the machine woke up a thread too late that only slept
  /// Most admitted of one key in any span above its limit: by all; by the store alone; and by this
  /// process's share alone, above the share's. The share is used up beside the store's limit, so
  /// the second and the third are what is promised.
  std::int64_t excess = 0;
  std::int64_t of_store = 0;
  std::optional<std::int64_t> of_store_bound = 0;  ///< none: nothing is promised
  std::int64_t of_share = 0;
  /// Charged in the store, and neither granted nor timed out; none where it was not counted.
  std::optional<std::int64_t> doubled{};
  /// Granted by the store, and not charged in it afterwards.
  std::optional<std::int64_t> lost{};
  std::int64_t lost_bound = 0;
  double recovered_ms = -1;    ///< from the healing until the store decides again
  std::int64_t grown_kib = 0;  ///< resident memory, most during the fault less that before
  std::vector<std::pair<std::string, std::string>> notes{};
  std::vector<std::string> broken{};  ///< promises that were not kept

  bool kept() const { return broken.empty(); }
};

/// Counts and percentiles.
void count(Figures& figures, const std::vector<Call>& calls);

enum class Whose : std::uint8_t { all, store, share };

/// The least number of units by which the bucket's burst had to be larger for the history to be
/// kept: what was admitted above the bound in the worst span, of the worst key.
std::int64_t excess_of(const std::vector<Call>& calls, Whose whose);

/// By the store, or by what it had told before.
bool by_store(const Call& call);

/// Resident memory of this process.
std::int64_t resident_kib();

std::string markdown(const std::vector<Figures>& rows);
std::string json(const std::vector<Figures>& rows);

}  // namespace weir::test
