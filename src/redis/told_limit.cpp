#include "redis/told_limit.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "wire/integer.hpp"

namespace weir::redis {
namespace {

using Single = Limit::Single::Config;
using Composite = Limit::Composite::Config;

// The bounds that the machines have in Lua.
constexpr std::int64_t most_units = std::int64_t{1} << 50;
constexpr std::int64_t most_interval_parts = std::int64_t{1} << 52;
constexpr std::int64_t most_rest = std::int64_t{1} << 53;
constexpr std::int64_t most_entries = 100'000;
constexpr std::int64_t most_permits = 10'000;
constexpr std::int64_t most_counted = 1'025;

/// Words with one blank between them; all that is asked for beyond them is missing too.
class Words {
 public:
  explicit Words(std::string_view text) : left_(text) {}

  std::string_view word() {
    if (!left_) {
      missing_ = true;
      return {};
    }
    const std::size_t blank = left_->find(' ');
    const std::string_view first = left_->substr(0, blank);
    if (blank == std::string_view::npos) {
      left_.reset();
    } else {
      left_->remove_prefix(blank + 1);
    }
    return first;
  }
  char letter() {
    const std::string_view text = word();
    return text.size() == 1 ? text[0] : '\0';
  }
  /// Where the word is none within these: the least, and the text is no limit.
  struct Within {
    std::int64_t least;
    std::int64_t most;
  };
  std::int64_t number(Within within) {
    const auto value = wire::strict_integer(word());
    if (value && *value >= within.least && *value <= within.most) return *value;
    missing_ = true;
    return within.least;
  }
  Span span(std::int64_t least = 1) { return Span{number({least, longest_span.count()})}; }

  bool well_read() const { return !missing_ && !left_; }

 private:
  std::optional<std::string_view> left_;
  bool missing_ = false;
};

std::optional<Gcra::Config> read_bucket(Words& words) {
  const Span whole = words.span(0);
  const std::int64_t rest = words.number({0, most_interval_parts});
  const std::int64_t parts = words.number({1, most_interval_parts});
  const Cost burst = words.number({1, most_rest});
  if (rest >= parts || (whole == Span{0} && rest == 0)) return {};
  const Interval interval(Interval::Mixed{whole, rest, parts});
  const auto config = Gcra::configure(interval, burst, longest_span, most_rest);
  if (!config) return {};
  return *config;
}

std::optional<Single> read_single(char letter, Words& words) {
  switch (letter) {
    case 't':
    case 'l': {
      const auto bucket = read_bucket(words);
      if (!bucket) return {};
      if (letter == 't') return *bucket;
      return LeakyBucket::Config{*bucket};
    }
    case 'f': {
      const Cost limit = words.number({1, most_units});
      return FixedWindow::Config{limit, words.span()};
    }
    case 'w': {
      const Cost limit = words.number({1, most_units});
      const Span part = words.span();
      return SlidingWindow::Config{limit, part, words.number({2, most_counted})};
    }
    case 'o': {
      const Cost limit = words.number({1, most_entries});
      return SlidingLog::Config{limit, words.span()};
    }
    case 'c': {
      const Cost limit = words.number({1, most_permits});
      return Concurrency::Config{limit, words.span()};
    }
    default: return {};
  }
}

std::optional<Composite> read_terms(Words& words) {
  const std::int64_t count = words.number({1, static_cast<std::int64_t>(most_terms)});
  Composite composite;
  for (std::int64_t term = 0; term < count; ++term) {
    const Span penalty = words.span(0);
    const auto inner = read_single(words.letter(), words);
    if (!inner) return {};
    composite.terms.push_back({*inner, penalty});
  }
  return composite;
}

}  // namespace

std::optional<ToldLimit> read_told_limit(std::string_view text) {
  Words words(text);
  const char letter = words.letter();
  const Span slack = words.span(0);
  std::optional<ToldLimit> told;
  if (letter == 'm') {
    if (auto terms = read_terms(words)) told = ToldLimit{*std::move(terms), slack};
  } else if (const auto single = read_single(letter, words)) {
    told = std::visit([&](const auto& config) { return ToldLimit{config, slack}; }, *single);
  }
  if (!words.well_read()) return {};
  return told;
}

std::size_t term_count(const Limit::Machine::Config& config) noexcept {
  const auto* const composite = std::get_if<Composite>(&config);
  return composite ? composite->terms.size() : 1;
}

}  // namespace weir::redis
