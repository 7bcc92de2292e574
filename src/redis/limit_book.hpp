// Limits as the store is told them.
#pragma once

#include <cstddef>
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
};

/// Made once for each rule.
///
/// Memory   about 200 bytes for each rule that was asked for
/// Threads  safe from any
class LimitBook {
 public:
  /// Of the subject's rule, or of its own numbers where it brings some. The rule must live on.
  StoreLimit of(const Subject& subject);

 private:
  std::shared_mutex mutex_;
  std::unordered_map<const Rule*, StoreLimit> known_;
};

}  // namespace weir::redis
