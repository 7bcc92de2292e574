#include "weir/duration.hpp"

#include <array>
#include <cstddef>

#include "limit/characters.hpp"

namespace weir {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t microseconds;
};

constexpr std::array unit_names{
    Unit{"us", 1},
    Unit{"ms", 1'000},
    Unit{"s", 1'000'000},
    Unit{"m", 60'000'000},
    Unit{"h", 3'600'000'000},
    Unit{"d", 86'400'000'000},
    Unit{"sec", 1'000'000},
    Unit{"min", 60'000'000},
    Unit{"microsecond", 1},
    Unit{"millisecond", 1'000},
    Unit{"second", 1'000'000},
    Unit{"minute", 60'000'000},
    Unit{"hour", 3'600'000'000},
    Unit{"day", 86'400'000'000},
};

const Unit* find_unit(std::string_view word) {
  for (const Unit& unit : unit_names) {
    if (word == unit.name) return &unit;
    // The words have a plural; the symbols do not.
    if (unit.name.size() > 2 && word.size() == unit.name.size() + 1 && word.back() == 's' &&
        word.substr(0, unit.name.size()) == unit.name) {
      return &unit;
    }
  }
  return nullptr;
}

/// A decimal number as digits / 10^decimals, exact.
struct Decimal {
  std::int64_t digits = 1;
  std::int64_t scale = 1;
  std::size_t length = 0;
  bool overflow = false;
};

Decimal read_decimal(std::string_view text) {
  Decimal number;
  if (text.empty() || !is_digit(text[0])) return number;
  number.digits = 0;
  bool decimals = false;
  for (; number.length < text.size(); ++number.length) {
    const char c = text[number.length];
    if (c == '.' && !decimals && number.length + 1 < text.size() &&
        is_digit(text[number.length + 1])) {
      decimals = true;
      continue;
    }
    if (!is_digit(c)) break;
    if (number.digits > longest_span.count() || number.scale > 100'000'000'000'000) {
      number.overflow = true;
      continue;
    }
    number.digits = number.digits * 10 + (c - '0');
    if (decimals) number.scale *= 10;
  }
  return number;
}

}  // namespace

Expected<ReadSpan, DurationError> read_duration(std::string_view text) {
  const Decimal number = read_decimal(text);
  std::size_t begin = number.length;
  while (begin > 0 && begin < text.size() && text[begin] == ' ') ++begin;
  std::size_t end = begin;
  while (end < text.size() && is_letter(text[end])) ++end;
  const Unit* unit = find_unit(text.substr(begin, end - begin));
  if (!unit) return DurationError::no_unit;
  __extension__ using WideProduct = __int128;
  const WideProduct microseconds = WideProduct{number.digits} * unit->microseconds;
  if (number.overflow || microseconds / number.scale > longest_span.count()) {
    return DurationError::out_of_range;
  }
  if (microseconds % number.scale != 0) return DurationError::not_whole;
  return ReadSpan{Span{static_cast<std::int64_t>(microseconds / number.scale)}, end};
}

Expected<Span, DurationError> parse_duration(std::string_view text) {
  if (text.empty() || !is_digit(text[0])) return DurationError::no_unit;
  const auto read = read_duration(text);
  if (!read) return read.error();
  if (read->length != text.size()) return DurationError::no_unit;
  return read->span;
}

std::string print_duration(Span span) {
  for (const char* name : {"d", "h", "m", "s", "ms"}) {
    const std::int64_t unit = find_unit(name)->microseconds;
    if (span.count() % unit == 0 && (span.count() != 0 || *name == 's')) {
      return std::to_string(span.count() / unit) + name;
    }
  }
  return std::to_string(span.count()) + "us";
}

const char* describe(DurationError error) noexcept {
  switch (error) {
    case DurationError::no_unit: return "expected a length of time such as 250ms, 1s, 5m, 1h or 1d";
    case DurationError::not_whole: return "a length of time must be whole microseconds";
    case DurationError::out_of_range:
      return "a length of time may be at most 2^50 microseconds (35 years)";
  }
  return "";
}

}  // namespace weir
