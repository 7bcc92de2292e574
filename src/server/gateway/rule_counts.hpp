// What one worker decided under each rule.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "gateway/rule.hpp"
#include "server/gateway/fullest_key.hpp"
#include "server/metrics.hpp"
#include "weir/redis/policy.hpp"

namespace weir::server {

/// How a rule's decision came out; the label `result`.
enum class GateResult : std::uint8_t { allowed, limited, shadow_limited };
inline constexpr std::size_t gate_results = 3;

/// Counts by the rules' numbers, which a process never gives twice.
///
/// Threads  one writes and grows it; others read while it does not grow
class RuleCounts {
 public:
  struct Candidate {
    Counter allowed;
    Counter refused;
  };
  struct PerRule {
    std::array<std::array<Counter, sources>, gate_results> decisions;
    std::array<Counter, gate_results> hits;
    Counter near_hits;  ///< let through, and near the limit
    Counter over_hits;  ///< of those that were refused, the ones beyond the limit
    FullestKey fullest;
    std::array<Candidate, gateway::most_candidates> candidates;
  };

  void grow(std::size_t rules) {
    while (rules_.size() < rules) rules_.emplace_back();
  }
  PerRule& of(std::uint64_t rule) noexcept { return rules_[rule]; }
  const PerRule& of(std::uint64_t rule) const noexcept { return rules_[rule]; }
  std::size_t size() const noexcept { return rules_.size(); }

 private:
  std::deque<PerRule> rules_;
};

}  // namespace weir::server
