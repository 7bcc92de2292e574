#include "redis/divided_limit.hpp"

#include <algorithm>
#include <string>
#include <variant>

namespace weir::redis {
namespace {

using Algorithm = LimitTerm::Algorithm;

constexpr Wide longest = longest_span.count();

std::int64_t within_longest(Wide ticks) {
  return static_cast<std::int64_t>(std::min(ticks, longest));
}

Wide ceil_of(Wide amount, Wide by) { return (amount + by - 1) / by; }

std::string period_text(std::int64_t ticks) { return std::to_string(ticks) + "us"; }

std::string rate_text(const LimitTerm& term) {
  const bool by_calendar = term.algorithm == Algorithm::calendar_window;
  return std::to_string(term.count) + "/" +
         (by_calendar ? name(term.unit) : period_text(term.period.count()));
}

/// "5/4us", with the options that the algorithm has.
std::string text_of(const LimitTerm& term) {
  std::string text = std::string(name(term.algorithm)) + " " + rate_text(term);
  switch (term.algorithm) {
    case Algorithm::token_bucket: text += " burst " + std::to_string(term.burst); break;
    case Algorithm::leaky_bucket: text += " queue " + std::to_string(term.queue); break;
    case Algorithm::sliding_window: text += " parts " + std::to_string(term.parts); break;
    case Algorithm::calendar_window: text += " zone " + term.zone; break;
    case Algorithm::fixed_window:
    case Algorithm::sliding_log:
    case Algorithm::concurrency: break;
  }
  if (term.block > Span{0}) text += " block " + period_text(term.block.count());
  return text;
}

/// The exact rate where a bucket can keep it; else one unit in whole ticks, not faster than it.
LimitTerm slower_bucket(LimitTerm term, std::uint32_t members) {
  term.burst = std::max<Cost>(1, term.burst / members);
  term.initial = term.burst;
  term.queue /= members;
  const Wide period = Wide{term.period.count()} * members;
  LimitTerm exact = term;
  exact.period = Span{within_longest(period)};
  if (period <= longest && Limit::parse(text_of(exact))) return exact;
  term.period = Span{within_longest(ceil_of(period, term.count))};
  term.count = 1;
  if (Limit::parse(text_of(term))) return term;
  term.burst = term.initial = 1;
  term.queue = 0;
  return term;
}

LimitTerm divided(LimitTerm term, std::uint32_t members) {
  switch (term.algorithm) {
    case Algorithm::token_bucket:
    case Algorithm::leaky_bucket: return slower_bucket(term, members);
    case Algorithm::fixed_window:
    case Algorithm::sliding_window:
    case Algorithm::sliding_log: {
      const Wide windows = ceil_of(members, std::min<Cost>(term.count, members));
      term.period = Span{within_longest(windows * term.period.count())};
      break;
    }
    case Algorithm::calendar_window:
      // The calendar has no unit of several days that its members could share.
      if (term.count < members) {
        term.algorithm = Algorithm::fixed_window;
        return divided(term, members);
      }
      break;
    case Algorithm::concurrency: break;
  }
  term.count = std::max<Cost>(1, term.count / members);
  return term;
}

}  // namespace

Limit divided(const Limit& limit, std::uint32_t members) {
  if (members == 1) return limit;
  std::string text;
  for (const LimitTerm& term : limit.terms()) {
    if (!text.empty()) text += " & ";
    text += text_of(divided(term, members));
  }
  return Limit::of(text);
}

namespace {

std::optional<Gcra::Config> divided(const Gcra::Config& bucket, std::uint32_t members) {
  const Interval& interval = bucket.interval;
  const Wide parts = interval.in_parts({interval.whole(), interval.rest()}) * members;
  const Cost burst = std::max<Cost>(1, bucket.burst / members);
  if (parts * burst > (Wide{1} << 62)) return {};
  const Interval slower(Interval::Parts{static_cast<std::int64_t>(parts), interval.parts()});
  return Gcra::Config{slower, burst, slower.times(burst)};
}

}  // namespace

std::optional<Limit::Machine::Config> divided(const Limit::Machine::Config& numbers,
                                              std::uint32_t members) {
  if (members == 1) return numbers;
  if (const auto* bucket = std::get_if<Gcra::Config>(&numbers)) return divided(*bucket, members);
  const auto* windows = std::get_if<AlignedWindows>(&numbers);
  if (!windows || windows->limit < members) return {};
  return AlignedWindows{windows->limit / members, windows->period};
}

}  // namespace weir::redis
