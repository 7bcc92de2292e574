#include "server/gateway/rate_limits.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/gateway/dynamic_metadata.hpp"
#include "server/gateway/standing.hpp"

namespace weir::server {
namespace {

using grpc::RateLimitAnswer;
using grpc::RateLimitAsk;
using grpc::RateLimitCode;
using grpc::RateLimitDescriptor;
using grpc::RateLimitStatus;
using grpc::RateLimitUnit;

constexpr std::uint32_t no_end = std::numeric_limits<std::uint32_t>::max();

struct Unit {
  RateLimitUnit unit;
  Span period;
  std::optional<CalendarUnit> of_calendar;
};
constexpr std::array<Unit, 7> units{{
    {RateLimitUnit::second, std::chrono::seconds(1), {}},
    {RateLimitUnit::minute, std::chrono::minutes(1), CalendarUnit::minute},
    {RateLimitUnit::hour, std::chrono::hours(1), CalendarUnit::hour},
    {RateLimitUnit::day, std::chrono::hours(24), CalendarUnit::day},
    {RateLimitUnit::week, std::chrono::hours(24 * 7), CalendarUnit::week},
    {RateLimitUnit::month, std::chrono::hours(24 * 30), CalendarUnit::month},
    {RateLimitUnit::year, std::chrono::hours(24 * 365), CalendarUnit::year},
}};

RateLimitUnit unit_of(const LimitTerm& term) {
  const auto window = term.window();
  const auto unit = std::ranges::find_if(units, [&](const Unit& each) {
    return window ? each.period == window : each.of_calendar == term.unit;
  });
  return unit != units.end() ? unit->unit : RateLimitUnit::unknown;
}

std::uint32_t clipped(Cost cost) {
  return static_cast<std::uint32_t>(std::clamp<Cost>(cost, 0, no_end));
}

std::optional<RateLimitStatus::Limit> limit_of(const Judged& judged) {
  if (judged.quota->kind == gateway::Quota::Kind::blocked) {
    return RateLimitStatus::Limit{0, RateLimitUnit::unknown, judged.rule->name};
  }
  const LimitTerm* const term = judged.quota->limit ? judged.quota->limit->only_term() : nullptr;
  if (!term) return {};
  return RateLimitStatus::Limit{clipped(term->count), unit_of(*term), judged.rule->name};
}

/// How a descriptor stands with one of its rules.
RateLimitStatus status_of(const Judged& judged, Instant now) {
  RateLimitStatus status;
  if (judged.quota->kind == gateway::Quota::Kind::unlimited) {
    status.remaining = no_end;
    return status;
  }
  if (judged.refuses && !judged.rule->shadow) status.code = RateLimitCode::over_limit;
  if (!judged.decision && !judged.refuses) return status;
  status.limit = limit_of(judged);
  if (judged.decision) {
    status.remaining = judged.refuses ? 0 : clipped(judged.decision->remaining);
    if (judged.decision->reset_at != Instant()) {  // a state was asked
      status.until_reset = std::max(Span{0}, judged.decision->reset_at - now);
    }
  }
  return status;
}

/// Of two rules of one descriptor, whether the first says more: what refuses, else has least left.
bool says_more(const RateLimitStatus& one, const RateLimitStatus& other) {
  if (one.code != other.code) return one.code == RateLimitCode::over_limit;
  return one.limit && (!other.limit || one.remaining < other.remaining);
}

RateLimitAnswer answer_of(const GateAnswer& gate, std::size_t descriptors,
                          http::RateDialect dialect) {
  RateLimitAnswer answer;
  answer.overall = gate.allowed ? RateLimitCode::ok : RateLimitCode::over_limit;
  answer.statuses.resize(descriptors);
  std::optional<std::size_t> met;  // the last descriptor that met a rule
  for (const Judged& judged : gate.judged) {
    RateLimitStatus status = status_of(judged, gate.decided_at);
    RateLimitStatus& kept = answer.statuses[judged.call];
    if (met != judged.call || says_more(status, kept)) kept = std::move(status);
    met = judged.call;
  }
  for (const GateLease& lease : gate.leases) {
    answer.statuses[lease.call].quota =
        grpc::RateLimitQuota{static_cast<std::uint32_t>(lease.calls), lease.valid_until};
  }
  if (dialect != http::RateDialect::none) {
    answer.response_headers.reserve(http::RateFields::most);
    Standing standing = standing_of(gate);
    // As envoyproxy/ratelimit: the status and the field say the same.
    if (dialect == http::RateDialect::draft06 && !gate.allowed && !standing.policies.empty()) {
      standing.policies.front().remaining = 0;
    }
    http::RateFields::write(dialect, standing.shown(), [&](http::Field&& field) {
      answer.response_headers.push_back({field.name, std::move(field.value)});
    });
  }
  return answer;
}

}  // namespace

/// Kept, since a proxy sends the same few again and again.
RateLimits::QuotaOfCall RateLimits::quota_of(const grpc::RateLimitOverride& wanted,
                                             const Generation& generation) {
  const auto at = static_cast<std::size_t>(wanted.unit) - 1;
  const auto name = std::pair(wanted.requests_per_unit, wanted.unit);
  if (const auto known = quotas_.find(name); known != quotas_.end()) return known->second;
  gateway::Quota quota;
  if (wanted.requests_per_unit == 0) {
    quota.kind = gateway::Quota::Kind::blocked;
  } else {
    quota.limit = Limit::of("fixed-window " + std::to_string(wanted.requests_per_unit) + '/' +
                            std::string(units_of_calls[at]));
    quota.states = generation.states_of_calls[at];
    quota.of_call = true;
  }
  if (quotas_.size() == most_quotas) quotas_.clear();
  return quotas_.emplace(name, std::make_shared<const gateway::Quota>(std::move(quota)))
      .first->second;
}

void RateLimits::decide(const RateLimitAsk& ask, grpc::RateLimitReply reply) {
  const auto& generation = decider_.generation();
  if (!generation) {
    return reply.fail({grpc::Code::unknown, "no rate limit configuration loaded"});
  }
  const std::size_t descriptors = ask.descriptors.size();
  const gateway::RuleIndex* const rules = generation->rules.find(ask.domain);
  if (!rules) {
    decider_.note_no_domain(ask.domain);
    RateLimitAnswer answer;
    answer.statuses.resize(descriptors);
    return reply.answer(answer);
  }
  std::vector<QuotaOfCall> overrides;
  std::vector<gateway::Entry> entries;
  entries.reserve(descriptors * 2);
  for (const RateLimitDescriptor& descriptor : ask.descriptors) {
    for (const grpc::RateLimitEntry& entry : descriptor.entries) {
      entries.push_back({entry.key, entry.value});
    }
  }
  std::vector<gateway::Call> calls;
  std::vector<Cost> hits;
  calls.reserve(descriptors);
  hits.reserve(descriptors);
  std::size_t first = 0;
  for (const RateLimitDescriptor& descriptor : ask.descriptors) {
    gateway::Call& call = calls.emplace_back();
    call.descriptor = std::span(entries).subspan(first, descriptor.entries.size());
    first += descriptor.entries.size();
    hits.push_back(static_cast<Cost>(descriptor.hits.value_or(ask.hits)));
    if (!descriptor.limit) continue;
    call.given = overrides.emplace_back(quota_of(*descriptor.limit, *generation)).get();
  }
  const gateway::Domain& domain = rules->domain();
  const auto metadata = domain.dynamic_metadata ? metadata_of(ask) : nullptr;
  if (metadata && !domain.of_envoy) {
    (*metadata->mutable_fields())["generation"].set_number_value(
        static_cast<double>(generation->number));
  }
  decider_.decide({.rules = rules,
                   .calls = calls,
                   .hits = hits,
                   .patience = ask.patience,
                   .leasing = GateAsk::Leasing::as_rules_say},
                  [reply = std::move(reply), overrides = std::move(overrides), descriptors,
                   metadata, dialect = domain.dialect](GateAnswer&& gate) {
                    RateLimitAnswer answer = answer_of(gate, descriptors, dialect);
                    if (metadata) add_metadata(gate, *metadata);
                    answer.dynamic_metadata = metadata;
                    reply.answer(answer);
                  });
}

}  // namespace weir::server
