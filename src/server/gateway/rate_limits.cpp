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
  std::string_view text;
  std::optional<CalendarUnit> of_calendar;
};
constexpr std::array<Unit, 7> units{{
    {RateLimitUnit::second, std::chrono::seconds(1), "1s", {}},
    {RateLimitUnit::minute, std::chrono::minutes(1), "1m", CalendarUnit::minute},
    {RateLimitUnit::hour, std::chrono::hours(1), "1h", CalendarUnit::hour},
    {RateLimitUnit::day, std::chrono::hours(24), "1d", CalendarUnit::day},
    {RateLimitUnit::week, std::chrono::hours(24 * 7), "7d", CalendarUnit::week},
    {RateLimitUnit::month, std::chrono::hours(24 * 30), "30d", CalendarUnit::month},
    {RateLimitUnit::year, std::chrono::hours(24 * 365), "365d", CalendarUnit::year},
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

/// The limits that descriptors bring along themselves.
class Overrides {
 public:
  explicit Overrides(RuleCache& rules) : rules_(rules) {}

  /// Null where the server has met too many different ones.
  const gateway::Quota* of(const grpc::RateLimitOverride& wanted) {
    auto quota = std::make_unique<gateway::Quota>();
    if (wanted.requests_per_unit == 0) {
      quota->kind = gateway::Quota::Kind::blocked;
    } else {
      const auto unit = std::ranges::find(units, wanted.unit, &Unit::unit);
      const auto rule = rules_.find("fixed-window " + std::to_string(wanted.requests_per_unit) +
                                    '/' + std::string(unit->text));
      if (!rule) return nullptr;
      quota->limit = (*rule)->limit;
      quota->states = *rule;
    }
    return kept_.emplace_back(std::move(quota)).get();
  }

 private:
  RuleCache& rules_;
  std::vector<std::unique_ptr<gateway::Quota>> kept_;
};

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
  if (judged.decision && judged.decision->verdict != Verdict::impossible) {
    status.remaining = judged.refuses ? 0 : clipped(judged.decision->remaining);
    status.until_reset = std::max(Span{0}, judged.decision->reset_at - now);
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
    http::RateFields::write(dialect, standing_of(gate).shown(), [&](http::Field&& field) {
      answer.response_headers.push_back({field.name, std::move(field.value)});
    });
  }
  return answer;
}

}  // namespace

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
  std::shared_ptr<Overrides> overrides;
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
    if (!overrides) overrides = std::make_shared<Overrides>(rules_);
    call.given = overrides->of(*descriptor.limit);
    if (!call.given) {
      return reply.fail({grpc::Code::resource_exhausted,
                         "more than 10000 different limits came with descriptors"});
    }
  }
  const gateway::Domain& domain = rules->domain();
  const auto metadata = domain.dynamic_metadata ? metadata_of(ask) : nullptr;
  if (metadata && !domain.of_envoy) {
    (*metadata->mutable_fields())["generation"].set_number_value(
        static_cast<double>(generation->number));
  }
  decider_.decide(
      {.rules = rules, .calls = calls, .hits = hits, .leasing = GateAsk::Leasing::as_rules_say},
      [reply = std::move(reply), overrides, descriptors, metadata,
       dialect = domain.dialect](GateAnswer&& gate) {
        RateLimitAnswer answer = answer_of(gate, descriptors, dialect);
        if (metadata) add_metadata(gate, *metadata);
        answer.dynamic_metadata = metadata;
        reply.answer(answer);
      });
}

}  // namespace weir::server
