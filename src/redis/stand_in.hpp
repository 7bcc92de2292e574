// Who decides while the store does not.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "redis/remote_table.hpp"
#include "weir/local/table.hpp"

namespace weir::redis {

/// Decides by the word of each claim; of several, what one is denied for is denied.
///
///   share   a table of this process, under limits divided by `members` (see divided()). What was
///           let in by it the store never hears of, so once the store is back it is let in beside
///           the limit: at most the shares that were used. What the share can never grant though
///           the limit could is denied, not impossible. Nothing is given back to it: permits end
///           with their leases.
///   open    granted, but for what the limit can never grant
///   closed  denied; ready_at is only when the store is asked again
///
/// Bound    share: together at most the limit's own and 2 units a member, beside what the store
///          has granted
/// Memory   Policy::keys, and most_shares limits, one for each name and text; of further ones
///          nothing is let in
/// Threads  safe from any
class StandIn {
 public:
  static constexpr std::size_t most_shares = 20'000;

  StandIn(const Policy& policy, std::function<Instant()> now);

  enum class Question : std::uint8_t { take, peek };

  struct Asked {
    std::span<const Claim> claims;
    std::span<const WithoutStore> without_store;  ///< of each claim
    std::optional<Span> patience{};
  };

  /// Requires a claim at least.
  RemoteAnswer decide(Question question, const Asked& asked);

 private:
  RemoteAnswer by_share(Question question, const Asked& asked, Instant now);
  RemoteAnswer denied(const Claim& claim, Instant now) const;
  const Rule* share_of(const Rule& rule);

  Policy policy_;
  std::function<Instant()> now_;
  Table table_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::unique_ptr<const Rule>> shares_;  ///< the table's own
};

}  // namespace weir::redis
