#include "cli/explanation.hpp"

#include <algorithm>
#include <optional>

#include "weir/duration.hpp"

namespace weir::cli {
namespace {

std::string calls(Cost count) { return std::to_string(count) + (count == 1 ? " call" : " calls"); }

std::string each(const Rate& rate) {
  return std::to_string(rate.count) + " each " + print_duration(rate.period);
}

/// "one each 10ms" where that is whole microseconds, else what was written.
std::string pace(const LimitTerm& term) {
  if (term.period.count() % term.count != 0) return each({term.count, term.period});
  return "one each " + print_duration(term.period / term.count);
}

/// The time between two units.
std::string interval(const LimitTerm& term) {
  const Span whole = term.period / term.count;
  if (whole * term.count == term.period) return print_duration(whole);
  return whole == Span{0} ? "less than 1us" : "about " + print_duration(whole);
}

Rate rate_of(const LimitTerm& term) {
  if (term.algorithm != LimitTerm::Algorithm::sliding_window) return {term.count, term.period};
  const Span part{(term.period.count() - 1) / term.parts + 1};
  return {term.count, part * (term.parts + 1)};
}

using Sentences = std::vector<std::string>;

Sentences on_token_bucket(const LimitTerm& term) {
  Sentences sentences{
      "A bucket holds " + std::to_string(term.burst) + (term.burst == 1 ? " token" : " tokens") +
          " and is refilled evenly, " + pace(term) + ".",
      "A call takes a token, so after a rest " + calls(term.burst) +
          " may act at once, and from then on " + pace(term) + ".",
      "A call that finds too few tokens is refused at once; it takes nothing, and learns when the "
      "tokens will be there.",
  };
  if (term.initial != term.burst) {
    sentences.push_back("It starts with " + std::to_string(term.initial) +
                        ": a burst at the very start is refused until more have dripped in.");
    sentences.push_back(
        "Keys of a server or of Redis always start full, so they refuse this limit.");
  }
  return sentences;
}

Sentences on_leaky_bucket(const LimitTerm& term) {
  const std::string pacing = "Calls leave one by one, " + interval(term) +
                             " apart, however they arrive: there are no bursts.";
  if (term.queue == 0) {
    return {pacing,
            "None may wait: a call that comes sooner is refused at once, and takes nothing."};
  }
  const auto config = LeakyBucket::configure({term.count, term.period, term.queue}).value();
  const Span longest = LeakyBucket::own_wait(config, 1).value();
  return {pacing, "Up to " + std::to_string(term.queue) +
                      " may wait for their turn, the last of them " + print_duration(longest) +
                      "; the next is refused at once, and takes nothing."};
}

Sentences on_fixed_window(const LimitTerm& term) {
  const std::string period = print_duration(term.period);
  const std::string count = std::to_string(term.count);
  return {
      "A counter allows " + calls(term.count) + " in each window of " + period +
          ", and starts again when the window turns, at every whole " + period + " of the clock.",
      "A call above that is refused until the turn, and takes nothing.",
      "Its weakness: across a turn " + std::to_string(2 * term.count) +
          " may act as good as at once, " + count + " just before it and " + count + " just after.",
  };
}

Sentences on_calendar_window(const LimitTerm& term) {
  const std::string unit = name(term.unit);
  const std::string count = std::to_string(term.count);
  return {
      "A counter allows " + calls(term.count) + " in each " + unit + " of the calendar in " +
          term.zone + ", and starts again when the next one begins.",
      "A call above that is refused until then, and takes nothing.",
      "Its weakness: across that instant " + std::to_string(2 * term.count) +
          " may act as good as at once, " + count + " just before it and " + count + " just after.",
  };
}

Sentences on_sliding_window(const LimitTerm& term) {
  const Rate rate = rate_of(term);
  return {
      "A window of " + print_duration(term.period) + " slides over parts of " +
          print_duration(rate.period / (term.parts + 1)) + " with a counter each: " +
          calls(term.count) + " at most act within it, wherever it lies.",
      "A part that has only partly left it still counts in full, so what can be kept up is " +
          std::to_string(term.parts) + "/" + std::to_string(term.parts + 1) + " of the rate, " +
          each(rate) + "; more parts cost more memory and come closer.",
      "A call above that is refused until enough old parts have left, and takes nothing.",
  };
}

Sentences on_sliding_log(const LimitTerm& term) {
  return {
      "A log keeps the instant of every call that was let through: " + calls(term.count) +
          " at most act within any " + print_duration(term.period) + ", exactly.",
      "A call above that is refused until the oldest has left the window. It is not logged, so "
      "knocking does not prolong the wait.",
      "The log grows with use, 8 bytes a call, up to the count.",
  };
}

Sentences on_concurrency(const LimitTerm& term) {
  const std::string lease = print_duration(term.period);
  return {
      calls(term.count) + " at most " + (term.count == 1 ? "is" : "are") +
          " inside at any instant: each holds a permit from WEIR.ENTER to WEIR.LEAVE, for " +
          lease + " at the longest unless it renews it. Who crashed is out when its lease ends.",
      "A call above that is refused until one leaves or a lease ends, and takes nothing; nobody "
      "waits in line.",
      "The table counts permits that nobody gives back: a place that is given back may be taken "
      "again at once.",
  };
}

Sentences on_algorithm(const LimitTerm& term) {
  switch (term.algorithm) {
    case LimitTerm::Algorithm::token_bucket: return on_token_bucket(term);
    case LimitTerm::Algorithm::leaky_bucket: return on_leaky_bucket(term);
    case LimitTerm::Algorithm::fixed_window: return on_fixed_window(term);
    case LimitTerm::Algorithm::sliding_window: return on_sliding_window(term);
    case LimitTerm::Algorithm::sliding_log: return on_sliding_log(term);
    case LimitTerm::Algorithm::concurrency: return on_concurrency(term);
    case LimitTerm::Algorithm::calendar_window: return on_calendar_window(term);
  }
  return {};
}

bool slower(const Rate& left, const Rate& right) {
  return Wide{left.count} * right.period.count() < Wide{right.count} * left.period.count();
}

}  // namespace

std::vector<std::string> sentences_on(const LimitTerm& term) {
  Sentences sentences = on_algorithm(term);
  if (term.block != Span{0}) {
    sentences.push_back("A refusal shuts the key out for " + print_duration(term.block) +
                        "; knocking meanwhile does not prolong that.");
  }
  return sentences;
}

// Places come back, so beside a rate they sustain no other; alone, that of nobody leaving is told.
Rate sustained_rate(const Limit& limit) {
  std::optional<Rate> slowest;
  for (const LimitTerm& term : limit.terms()) {
    if (term.algorithm == LimitTerm::Algorithm::concurrency) continue;
    if (!slowest || slower(rate_of(term), *slowest)) slowest = rate_of(term);
  }
  return slowest.value_or(rate_of(limit.terms().front()));
}

std::vector<BoundRow> bound_table(const Limit& limit) {
  std::vector<Span> lengths{Span{1}, Span{1'000'000}};
  for (const LimitTerm& term : limit.terms()) {
    lengths.push_back(term.period);
    if (term.period <= longest_span / 10) lengths.push_back(10 * term.period);
  }
  std::ranges::sort(lengths);
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  std::vector<BoundRow> rows;
  rows.reserve(lengths.size());
  for (const Span length : lengths) {
    rows.push_back({length, Limit::Machine::bound(limit.config(), length, 1)});
  }
  return rows;
}

}  // namespace weir::cli
