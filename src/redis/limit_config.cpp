#include "redis/limit_config.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <variant>

namespace weir::redis {
namespace {

constexpr std::int64_t most_parts = std::int64_t{1} << 52;

/// Words with a blank between them.
class Words {
 public:
  Words& operator<<(char letter) {
    next().push_back(letter);
    return *this;
  }
  Words& operator<<(std::int64_t number) {
    next() += std::to_string(number);
    return *this;
  }
  Words& operator<<(const std::string& word) {
    next() += word;
    return *this;
  }
  Words& operator<<(Span span) { return *this << span.count(); }

  std::string text;

 private:
  std::string& next() {
    if (!text.empty()) text += ' ';
    return text;
  }
};

void add_numbers(const Gcra::Config& config, Words& words) {
  const Interval& interval = config.interval;
  words << interval.whole() << interval.rest() << interval.parts() << config.burst;
}
void add_numbers(const LeakyBucket::Config& config, Words& words) {
  add_numbers(config.bucket, words);
}
void add_numbers(const FixedWindow::Config& config, Words& words) {
  words << config.limit << config.period;
}
void add_numbers(const SlidingWindow::Config& config, Words& words) {
  words << config.limit << config.part << config.counted;
}
void add_numbers(const SlidingLog::Config& config, Words& words) {
  words << config.limit << config.period;
}
void add_numbers(const Concurrency::Config& config, Words& words) {
  words << config.limit << config.lease;
}

/// A zone from the database has whole seconds.
void add_second(std::chrono::microseconds time, std::string& word) {
  word += ',' + std::to_string(std::chrono::floor<std::chrono::seconds>(time).count());
}
void add_change(const TimeZone::YearlyChange& change, std::string& word) {
  for (const unsigned number : {change.month, change.week, change.weekday}) {
    word += ',' + std::to_string(number);
  }
  add_second(change.time, word);
  add_second(change.offset, word);
}
std::string word_of(const TimeZone::Settings& zone) {
  std::string word;
  add_second(zone.first_offset, word);
  word += ',' + std::to_string(zone.changes.size());
  for (const TimeZone::Change& change : zone.changes) {
    add_second(change.at.time_since_epoch(), word);
    add_second(change.offset, word);
  }
  if (zone.yearly) {
    word += ',' + std::to_string(zone.yearly->first_year);
    for (const auto& change : zone.yearly->changes) add_change(change, word);
  }
  return word.substr(1);
}
void add_numbers(const CalendarWindow::Config& config, Words& words) {
  words << config.limit << static_cast<std::int64_t>(config.unit);
  words << word_of(config.zone->settings());
}

using Trouble = std::optional<Unstorable>;

Trouble trouble_of(const Gcra::Config& config) {
  if (config.interval.parts() > most_parts) return Unstorable::too_fine;
  return {};
}
Trouble trouble_of(const LeakyBucket::Config& config) { return trouble_of(config.bucket); }
template <typename Config>
Trouble trouble_of(const Config&) {
  return {};
}

/// In the order of Limit::Single.
constexpr std::string_view letters = "tlfwock";
static_assert(letters.size() == std::variant_size_v<Limit::Single::Config>);

Trouble add(const Limit::Composite::Config& composite, Span slack, Words& words) {
  words << 'm' << slack << static_cast<std::int64_t>(composite.terms.size());
  Trouble trouble;
  for (const auto& term : composite.terms) {
    words << term.penalty << letters[term.inner.index()];
    std::visit(
        [&](const auto& config) {
          add_numbers(config, words);
          if (!trouble) trouble = trouble_of(config);
        },
        term.inner);
  }
  return trouble;
}
template <typename Config>
Trouble add(const Config& config, Span slack, Words& words) {
  words << letters[Limit::Single::Config(config).index()] << slack;
  add_numbers(config, words);
  return trouble_of(config);
}

}  // namespace

Span slack_of(const Limit::Machine::Config& config, Span slack) {
  const auto own = Limit::Machine::own_wait(config, 1);
  return own ? std::max(slack, *own) : slack;
}

Expected<std::string, Unstorable> config_text(const Limit& limit, Span slack) {
  if (!limit.starts_full()) return Unstorable::starts_short;
  return config_text(limit.config(), slack);
}

Expected<std::string, Unstorable> config_text(const Limit::Machine::Config& config, Span slack) {
  slack = slack_of(config, slack);
  Words words;
  const Trouble trouble =
      std::visit([&](const auto& chosen) { return add(chosen, slack, words); }, config);
  if (trouble) return *trouble;
  return words.text;
}

}  // namespace weir::redis
