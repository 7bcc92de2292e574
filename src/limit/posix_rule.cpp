#include "limit/posix_rule.hpp"

#include <utility>

#include "limit/characters.hpp"

namespace weir {
namespace {

class RuleReader {
 public:
  explicit RuleReader(std::string_view text) : text_(text) {}

  std::optional<PosixRule> run() {
    if (text_.empty()) return PosixRule{};
    skip_name();
    const Span standard = -clock_time(24);
    if (text_.empty()) return done(PosixRule{});
    skip_name();
    Span daylight = standard + std::chrono::hours{1};
    if (!text_.empty() && text_.front() != ',') daylight = -clock_time(24);
    const TimeZone::YearlyChange to_daylight = change(daylight);
    const TimeZone::YearlyChange to_standard = change(standard);
    if (!text_.empty()) return {};
    TimeZone::Yearly yearly{0, {to_daylight, to_standard}};
    if (to_standard.month < to_daylight.month) std::swap(yearly.changes[0], yearly.changes[1]);
    return done(PosixRule{yearly});
  }

 private:
  std::optional<PosixRule> done(const PosixRule& rule) const {
    if (!good_) return {};
    return rule;
  }

  bool eat(char c) {
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) { good_ = eat(c) && good_; }

  /// CEST, or <+0330>.
  void skip_name() {
    const bool quoted = eat('<');
    std::size_t length = 0;
    while (length < text_.size() && is_of_name(text_[length], quoted)) ++length;
    if (length < 3) good_ = false;
    text_.remove_prefix(length);
    if (quoted) expect('>');
  }
  static bool is_of_name(char c, bool quoted) {
    return is_letter(c) || (quoted && (is_digit(c) || c == '+' || c == '-'));
  }

  int number(int most) {
    if (text_.empty() || !is_digit(text_.front())) good_ = false;
    int value = 0;
    while (!text_.empty() && is_digit(text_.front()) && value <= most) {
      value = value * 10 + (text_.front() - '0');
      text_.remove_prefix(1);
    }
    if (value > most) good_ = false;
    return value;
  }

  /// [+-]hh[:mm[:ss]]
  Span clock_time(int most_hours) {
    const bool negative = eat('-');
    if (!negative) eat('+');
    Span time = std::chrono::hours{number(most_hours)};
    if (eat(':')) time += std::chrono::minutes{number(59)};
    if (eat(':')) time += std::chrono::seconds{number(59)};
    return negative ? -time : time;
  }

  /// ,Mm.w.d[/time]
  TimeZone::YearlyChange change(Span offset) {
    constexpr int most_hours = 167;
    TimeZone::YearlyChange made{0, 0, 0, std::chrono::hours{2}, offset};
    expect(',');
    expect('M');
    made.month = static_cast<unsigned>(number(12));
    expect('.');
    made.week = static_cast<unsigned>(number(5));
    expect('.');
    made.weekday = static_cast<unsigned>(number(6));
    if (eat('/')) made.time = clock_time(most_hours);
    return made;
  }

  std::string_view text_;
  bool good_ = true;
};

}  // namespace

std::optional<PosixRule> read_posix_rule(std::string_view text) { return RuleReader(text).run(); }

}  // namespace weir
