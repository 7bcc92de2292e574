#include "limit/parser.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "limit/characters.hpp"
#include "limit/quoted.hpp"
#include "limit/time_zones.hpp"
#include "weir/duration.hpp"

namespace weir {
namespace {

using TermAlgorithm = LimitTerm::Algorithm;

struct AlgorithmName {
  std::string_view text;
  TermAlgorithm algorithm;
};
constexpr std::array algorithm_names{
    AlgorithmName{"token-bucket", TermAlgorithm::token_bucket},
    AlgorithmName{"gcra", TermAlgorithm::token_bucket},
    AlgorithmName{"leaky-bucket", TermAlgorithm::leaky_bucket},
    AlgorithmName{"fixed-window", TermAlgorithm::fixed_window},
    AlgorithmName{"sliding-window", TermAlgorithm::sliding_window},
    AlgorithmName{"sliding-log", TermAlgorithm::sliding_log},
    AlgorithmName{"concurrency", TermAlgorithm::concurrency},
    AlgorithmName{"calendar-window", TermAlgorithm::calendar_window},
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Expected<std::vector<LimitTerm>, LimitError> run() {
    if (text_.size() > Limit::longest_text) {
      fail(Limit::longest_text, "a limit may have at most 512 characters");
    }
    std::vector<LimitTerm> terms;
    bool has_permits = false;
    while (!error_) {
      if (terms.size() == most_terms) fail(at_, "at most 8 limits may be joined by &");
      skip_space();
      const std::size_t term_at = at_;
      LimitTerm& term = terms.emplace_back();
      read_term(term);
      if (term.algorithm == TermAlgorithm::concurrency) {
        if (has_permits) fail(term_at, "concurrency is given twice: a permit is one limit's");
        has_permits = true;
      }
      skip_space();
      if (error_ || at_ == text_.size()) break;
      ++at_;  // the & that ended the term
    }
    if (error_) return *error_;
    return terms;
  }

 private:
  void fail(std::size_t at, std::string message) {
    if (!error_) error_ = LimitError{at + 1, std::move(message)};
  }

  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }

  bool at_end_of_term() const { return at_ == text_.size() || text_[at_] == '&'; }

  std::string_view word_here() const {
    std::size_t end = at_;
    while (end < text_.size() && !is_space(text_[end]) && text_[end] != '&') ++end;
    return text_.substr(at_, end - at_);
  }

  /// What was found instead, for a message.
  std::string found() const {
    if (at_ == text_.size()) return "the end";
    if (text_[at_] == '&') return "'&'";
    return quoted(word_here());
  }

  void read_term(LimitTerm& term) {
    skip_space();
    read_algorithm(term);
    skip_space();
    const std::size_t numbers_at = at_;
    term.count = read_count("expected a count such as 100 or 10k");
    skip_space();
    if (error_) return;
    if (at_ == text_.size() || text_[at_] != '/') {
      return fail(at_, "expected '/' and a period, as in 100/s, got " + found());
    }
    ++at_;
    skip_space();
    if (term.algorithm == TermAlgorithm::calendar_window) {
      read_unit(term);
    } else {
      term.period = read_period();
    }
    term.burst = term.count;
    read_options(term);
    if (!error_) check(term, numbers_at);
  }

  void read_algorithm(LimitTerm& term) {
    if (at_end_of_term() || is_digit(text_[at_])) return;
    std::string_view word = word_here();
    for (const AlgorithmName& known : algorithm_names) {
      if (word == known.text) {
        term.algorithm = known.algorithm;
        at_ += word.size();
        return;
      }
    }
    const char first = word[0];
    if ((first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z')) {
      fail(at_, "unknown algorithm " + quoted(word) +
                    "; expected token-bucket, gcra, leaky-bucket, fixed-window, sliding-window, "
                    "sliding-log, concurrency or calendar-window");
    }
  }

  Cost read_count(const char* expected) {
    if (at_ == text_.size() || !is_digit(text_[at_])) {
      fail(at_, std::string(expected) + ", got " + found());
      return 1;
    }
    const std::size_t begin = at_;
    Cost count = 0;
    for (; at_ < text_.size() && is_digit(text_[at_]); ++at_) {
      if (count > longest_span.count()) continue;  // far too much already; reported below
      count = count * 10 + (text_[at_] - '0');
    }
    if (at_ < text_.size() && (text_[at_] == 'k' || text_[at_] == 'M')) {
      const Cost times = text_[at_] == 'k' ? 1'000 : 1'000'000;
      count = std::min(count, longest_span.count() / 1'000'000 + 1) * times;
      ++at_;
    }
    if (count > longest_span.count()) fail(begin, "a number may be at most 2^50");
    if (at_ < text_.size() && text_[at_] != '/' && text_[at_] != '&' && !is_space(text_[at_])) {
      fail(at_, std::string(expected) + ", got " + quoted(text_.substr(begin, at_ - begin + 1)));
    }
    return count;
  }

  Span read_period() {
    if (at_end_of_term()) {
      fail(at_, "expected a period such as s, 10s, 1m, 1h or 1d, got " + found());
      return Span{1};
    }
    const auto read = read_duration(text_.substr(at_));
    if (!read) {
      fail(at_, read.error() == DurationError::no_unit
                    ? "expected a period such as s, 10s, 1m, 1h or 1d, got " + found()
                    : describe(read.error()));
      return Span{1};
    }
    at_ += read->length;
    if (!at_end_of_term() && !is_space(text_[at_])) {
      fail(at_, "expected a space or the end after the period, got " + found());
    }
    return read->span;
  }

  /// A bare word: the calendar has no three weeks that all agree on. m could be either of two.
  void read_unit(LimitTerm& term) {
    const std::string_view word = word_here();
    for (const CalendarUnit unit : calendar_units) {
      const bool is_short = word.size() == 1 && word[0] == name(unit)[0];
      if (word != name(unit) && !(is_short && word != "m")) continue;
      term.unit = unit;
      term.period = longest(unit);
      at_ += word.size();
      return;
    }
    const char* expected = word == "m" ? "expected minute or month"
                                       : "expected minute, hour, day, week, month or year";
    fail(at_, std::string(expected) + ", got " + found());
  }

  void read_zone(LimitTerm& term) {
    const std::string_view word = word_here();
    const auto zone = time_zones().find(word);
    if (!zone) return fail(at_, zone.error());
    term.zone = word;
    at_ += word.size();
  }

  void read_options(LimitTerm& term) {
    std::optional<Cost> initial;
    unsigned seen = 0;
    for (skip_space(); !error_ && !at_end_of_term(); skip_space()) {
      const std::size_t begin = at_;
      const std::string_view option = word_here();
      at_ += option.size();
      skip_space();
      const auto once = [&](unsigned bit, bool fits, const char* owner) {
        if (!fits) fail(begin, std::string(option) + " belongs to " + owner);
        if (seen & bit) fail(begin, std::string(option) + " is given twice");
        seen |= bit;
      };
      const auto number = [&] { return read_count("expected a number"); };
      const bool bucket = term.algorithm == TermAlgorithm::token_bucket;
      if (option == "burst") {
        once(1, bucket, "token-bucket and gcra");
        term.burst = number();
      } else if (option == "queue") {
        once(2, term.algorithm == TermAlgorithm::leaky_bucket, "leaky-bucket");
        term.queue = number();
      } else if (option == "parts") {
        once(4, term.algorithm == TermAlgorithm::sliding_window, "sliding-window");
        term.parts = number();
      } else if (option == "initial") {
        once(8, bucket, "token-bucket and gcra");
        initial = number();
      } else if (option == "zone") {
        once(32, term.algorithm == TermAlgorithm::calendar_window, "calendar-window");
        read_zone(term);
      } else if (option == "block") {
        once(16, true, "");
        term.block = read_block();
      } else {
        fail(begin, "unknown option " + quoted(option) +
                        "; expected burst, queue, parts, initial, zone, block or &");
      }
    }
    term.initial = initial.value_or(term.burst);
  }

  Span read_block() {
    const std::size_t begin = at_;
    const auto read = read_duration(text_.substr(at_));
    if (at_end_of_term() || !is_digit(text_[at_]) || !read) {
      fail(begin,
           !at_end_of_term() && is_digit(text_[at_]) && read.error() != DurationError::no_unit
               ? describe(read.error())
               : "expected how long to block, such as 10m, got " + found());
      return Span{1};
    }
    at_ += read->length;
    if (read->span == Span{0}) fail(begin, "the time to block must be greater than zero");
    if (!at_end_of_term() && !is_space(text_[at_])) {
      fail(at_, "expected a space or the end after the time to block, got " + found());
    }
    return read->span;
  }

  /// The machine's own word on the numbers.
  void check(const LimitTerm& term, std::size_t at) {
    const auto report = [&](const auto& configured) {
      if (!configured) {
        fail(at, quoted(text_.substr(at, text_.find('&', at) - at)) + " " +
                     describe(configured.error()));
      }
    };
    switch (term.algorithm) {
      case TermAlgorithm::token_bucket:
        report(Gcra::configure({term.count, term.period, term.burst}));
        if (term.initial > term.burst)
          fail(at, std::string("initial ") + describe(ConfigError::too_full));
        break;
      case TermAlgorithm::leaky_bucket:
        report(LeakyBucket::configure({term.count, term.period, term.queue}));
        break;
      case TermAlgorithm::fixed_window:
        report(FixedWindow::configure({term.count, term.period}));
        break;
      case TermAlgorithm::sliding_window:
        report(SlidingWindow::configure({term.count, term.period, term.parts}));
        break;
      case TermAlgorithm::sliding_log:
        report(SlidingLog::configure({term.count, term.period}));
        break;
      case TermAlgorithm::concurrency:
        report(Concurrency::configure({term.count, term.period}));
        break;
      case TermAlgorithm::calendar_window:
        report(CalendarWindow::configure({term.count, term.unit, TimeZone::utc()}));
        break;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::optional<LimitError> error_;
};

}  // namespace

Expected<std::vector<LimitTerm>, LimitError> parse_terms(std::string_view text) {
  return Parser(text).run();
}

}  // namespace weir
