// What all connections of one server share.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <string_view>
#include <unordered_map>

#include "redis/remote_table.hpp"
#include "server/hot_keys.hpp"
#include "server/log.hpp"
#include "server/metrics.hpp"
#include "server/password.hpp"
#include "server/store_health.hpp"
#include "weir/local/clock.hpp"
#include "weir/local/rule.hpp"
#include "weir/local/spent_ids.hpp"
#include "weir/local/table.hpp"

namespace weir::server {

/// The limiter behind the sockets. Rules must be complete before it is made.
struct Service {
  Service(Rules& known_rules, const Table::Settings& settings, const LogOptions& logged = {})
      : rules(known_rules), table(settings), metrics(known_rules), log(logged) {}

  Rules& rules;
  Table table;
  redis::RemoteTable* store = nullptr;  ///< where the states are, if not in the table; set before
                                        ///< the first connection
  UnixClock clock;
  SpentIds spent_ids;
  Metrics metrics;
  HotKeyBoard hot_keys;
  Password password;             ///< set before the first connection, or never asked for
  Password admin_token;          ///< the same; without it there are no admin verbs
  std::size_t key_bytes = 1024;  ///< of one key; set before the first connection
  Log log;
  StoreHealth store_health{log};
  const std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
  std::atomic<bool> draining{false};
  /// Of what is read again: the last file was no good, and what was before counts.
  std::array<std::atomic<bool>, reloaded_things> outdated{};
  bool needs_store =
      false;  ///< not ready while it does not answer; set before the first connection
  std::atomic<std::uint64_t> next_connection{1};
  /// Numbers of another run of the server are never met again: they count on from the time.
  const std::uint64_t first_grant =
      static_cast<std::uint64_t>(clock.now().time_since_epoch().count());
  std::atomic<std::uint64_t> next_grant{first_grant};
};

/// Hashes what strangers send.
struct TextHash {
  using is_transparent = void;
  HashKey key = HashKey::random();
  std::size_t operator()(std::string_view text) const noexcept { return keyed_hash(key, text); }
};

/// The rules that one worker's clients name, without a lock. Bounded: it starts again when full.
class RuleCache {
 public:
  explicit RuleCache(Rules& rules) : rules_(rules) {}

  /// The rule, if a client has named it lately; else null.
  const Rule* known(std::string_view text) const {
    const auto known = known_.find(text);
    return known != known_.end() ? known->second : nullptr;
  }

  Expected<const Rule*, LimitError> find(std::string_view text) {
    if (const Rule* rule = known(text)) return rule;
    auto found = rules_.find(text);
    if (found) {
      if (known_.size() >= most_known) known_.clear();
      known_.emplace(text, *found);
    }
    return found;
  }

 private:
  static constexpr std::size_t most_known = 4096;

  Rules& rules_;
  std::unordered_map<std::string, const Rule*, TextHash, std::equal_to<>> known_;
};

}  // namespace weir::server
