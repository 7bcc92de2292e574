// Limits as the store is told them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>

#include "redis/limit_config.hpp"
#include "weir/local/table.hpp"

namespace weir::redis {

/// What a script needs to know of a limit.
struct StoreLimit {
  Expected<std::string, Unstorable> text;  ///< see config_text()
  char letter;
  std::size_t terms;
  Cost capacity;
  /// Whether a denial holds until its ready_at if nothing is given back, and changes no state: not
  /// where places become free all the time, or a refusal brings a penalty.
  bool denials_hold;
  bool leasable;   ///< see Leases
  bool by_module;  ///< the module reads its text; it knows no time zones
};

/// The patience that counts of a request: the limit's own at the most, and of a script's slack.
Span patience_of(const Subject& subject, Cost cost, std::optional<Span> patience);

/// Made once for each rule, by its id.
///
/// Memory   about 200 bytes for each rule that was asked for; all are made anew where there come to
///          be more than most_known
/// Threads  safe from any
class LimitBook {
 public:
  static constexpr std::size_t most_known = 20'000;

  /// Of the subject's rule, or of its own numbers where it brings some.
  StoreLimit of(const Subject& subject);

 private:
  std::shared_mutex mutex_;
  std::unordered_map<std::uint32_t, StoreLimit> known_;
};

}  // namespace weir::redis
