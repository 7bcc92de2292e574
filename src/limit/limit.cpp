#include "weir/limit.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <utility>

#include "limit/parser.hpp"
#include "limit/time_zones.hpp"
#include "weir/duration.hpp"

namespace weir {
namespace {

Limit::Single::Config single_config(const LimitTerm& term) {
  switch (term.algorithm) {
    case LimitTerm::Algorithm::token_bucket:
      return Gcra::configure({term.count, term.period, term.burst}).value();
    case LimitTerm::Algorithm::leaky_bucket:
      return LeakyBucket::configure({term.count, term.period, term.queue}).value();
    case LimitTerm::Algorithm::fixed_window:
      return FixedWindow::configure({term.count, term.period}).value();
    case LimitTerm::Algorithm::sliding_window:
      return SlidingWindow::configure({term.count, term.period, term.parts}).value();
    case LimitTerm::Algorithm::sliding_log:
      return SlidingLog::configure({term.count, term.period}).value();
    case LimitTerm::Algorithm::concurrency:
      return Concurrency::configure({term.count, term.period}).value();
    case LimitTerm::Algorithm::calendar_window: {
      const TimeZone* zone = time_zones().find(term.zone).value();
      return CalendarWindow::configure({term.count, term.unit, *zone}).value();
    }
  }
  return {};
}

/// Requires terms that the parser accepted.
Limit::Machine::Config machine_config(const std::vector<LimitTerm>& terms) {
  if (terms.size() == 1 && terms[0].block == Span{0}) {
    return std::visit([](auto&& config) { return Limit::Machine::Config(config); },
                      single_config(terms[0]));
  }
  Limit::Composite::Config composite;
  for (const LimitTerm& term : terms) composite.terms.push_back({single_config(term), term.block});
  return composite;
}

std::string print(const LimitTerm& term) {
  using enum LimitTerm::Algorithm;
  std::string text;
  if (term.algorithm != token_bucket) text = std::string(name(term.algorithm)) + " ";
  text += std::to_string(term.count) + "/";
  text += term.algorithm == calendar_window ? name(term.unit) : print_duration(term.period);
  if (term.algorithm == token_bucket && term.burst != term.count) {
    text += " burst " + std::to_string(term.burst);
  }
  if (term.queue != 0) text += " queue " + std::to_string(term.queue);
  if (term.algorithm == sliding_window && term.parts != 10) {
    text += " parts " + std::to_string(term.parts);
  }
  if (term.algorithm == token_bucket && term.initial != term.burst) {
    text += " initial " + std::to_string(term.initial);
  }
  if (term.zone != "UTC") text += " zone " + term.zone;
  if (term.block != Span{0}) text += " block " + print_duration(term.block);
  return text;
}

bool full_at_start(const LimitTerm& term) {
  return term.algorithm != LimitTerm::Algorithm::token_bucket || term.initial == term.burst;
}

}  // namespace

const char* name(LimitTerm::Algorithm algorithm) noexcept {
  constexpr std::array names{"token-bucket", "leaky-bucket", "fixed-window",   "sliding-window",
                             "sliding-log",  "concurrency",  "calendar-window"};
  return names[static_cast<std::size_t>(algorithm)];
}

Limit Limit::of(std::string_view text) {
  auto limit = parse(text);
  if (limit) return std::move(limit).value();
  const LimitError& error = limit.error();
  throw std::invalid_argument("limit, column " + std::to_string(error.column) + ": " +
                              error.message);
}

Expected<Limit, LimitError> Limit::parse(std::string_view text) {
  auto terms = parse_terms(text);
  if (!terms) return terms.error();
  Limit limit;
  limit.terms_ = std::move(terms).value();
  for (const LimitTerm& term : limit.terms_) {
    if (!limit.text_.empty()) limit.text_ += " & ";
    limit.text_ += print(term);
  }
  limit.config_ = machine_config(limit.terms_);
  return limit;
}

bool Limit::starts_full() const noexcept {
  for (const LimitTerm& term : terms_) {
    if (!full_at_start(term)) return false;
  }
  return true;
}

std::optional<std::size_t> Limit::permit_term() const noexcept {
  for (std::size_t at = 0; at < terms_.size(); ++at) {
    if (terms_[at].algorithm == LimitTerm::Algorithm::concurrency) return at;
  }
  return {};
}

bool Limit::leasable() const noexcept {
  using Algorithm = LimitTerm::Algorithm;
  return std::ranges::none_of(terms_, [](const LimitTerm& term) {
    return term.block > Span{0} || term.algorithm == Algorithm::leaky_bucket ||
           term.algorithm == Algorithm::concurrency;
  });
}

std::size_t Limit::largest_state_bytes() const noexcept {
  std::size_t bytes = sizeof(State);
  if (std::holds_alternative<Composite::Config>(config_)) {
    bytes += sizeof(Composite::State) + terms_.size() * sizeof(Block<Single>::State);
  }
  for (const LimitTerm& term : terms_) {
    if (term.algorithm == LimitTerm::Algorithm::sliding_log) {
      bytes += (static_cast<std::size_t>(term.count) + 1) * sizeof(std::int64_t);
    } else if (term.algorithm == LimitTerm::Algorithm::sliding_window) {
      bytes += (static_cast<std::size_t>(term.parts) + 2) * sizeof(std::int64_t);
    } else if (term.algorithm == LimitTerm::Algorithm::concurrency) {
      const std::size_t cells = Concurrency::cells_for(static_cast<std::size_t>(term.count));
      bytes += (cells + 1) * sizeof(std::int64_t);
    }
  }
  return bytes;
}

Limit::State Limit::first_state(Instant now) const {
  if (starts_full()) return {};
  const auto first = [now](const LimitTerm& term, const Single::Config& config) -> Single::State {
    if (full_at_start(term)) return {};
    return Gcra::holding(std::get<Gcra::Config>(config), now, term.initial);
  };
  if (const auto* composite = std::get_if<Composite::Config>(&config_)) {
    Box<Composite::State> state;
    for (std::size_t at = 0; at < terms_.size(); ++at) {
      state.open().terms.push_back({Instant::min(), first(terms_[at], composite->terms[at].inner)});
    }
    return state;
  }
  return Gcra::holding(std::get<Gcra::Config>(config_), now, terms_[0].initial);
}

}  // namespace weir
