#include "redis/policy_check.hpp"

#include "weir/local/refuse_settings.hpp"

namespace weir::redis {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds longest_deadline = std::chrono::hours{1};
constexpr nanoseconds longest_kept = std::chrono::hours{24};
constexpr std::size_t most_denials = 100'000'000;
constexpr Cost most_leased = Cost{1} << 53;  // beyond it the scripts know no numbers

bool is_span(nanoseconds span, nanoseconds longest) {
  return span > nanoseconds{0} && span <= longest;
}

std::optional<SettingsError> fault_of(const LeaseSettings& lease) {
  if (lease.most_units < 1 || lease.most_units > most_leased) {
    return SettingsError{"lease.most_units", "from 1 to 2^53"};
  }
  if (!is_span(lease.kept_for, longest_kept)) {
    return SettingsError{"lease.kept_for", "more than 0, at most a day"};
  }
  if (lease.keys == 0) return SettingsError{"lease.keys", "at least 1"};
  return {};
}

std::optional<SettingsError> fault_of(const Policy& policy) {
  if (!is_span(policy.deadline, longest_deadline)) {
    return SettingsError{"deadline", "more than 0, at most an hour"};
  }
  if (policy.members == 0) return SettingsError{"members", "at least 1"};
  if (policy.keys == 0) return SettingsError{"keys", "at least 1"};
  const Policy::Breaker& breaker = policy.breaker;
  if (breaker.failures == 0) return SettingsError{"breaker.failures", "at least 1"};
  if (breaker.calls < breaker.failures) {
    return SettingsError{"breaker.calls", "at least breaker.failures"};
  }
  if (!is_span(breaker.probe_every, longest_kept)) {
    return SettingsError{"breaker.probe_every", "more than 0, at most a day"};
  }
  if (policy.remembered_denials > most_denials) {
    return SettingsError{"remembered_denials", "at most 100000000"};
  }
  return policy.lease ? fault_of(*policy.lease) : std::nullopt;
}

}  // namespace

const Policy& checked(const Policy& policy) {
  if (const auto fault = fault_of(policy)) refuse_settings("redis policy", *fault);
  return policy;
}

}  // namespace weir::redis
