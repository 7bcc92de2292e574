// zone_windows FILE UNIT FROM TO: where the windows of a zone's file begin that begin at or after
// second FROM and before TO, one a line, for zone_windows_test.py.
#include <charconv>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>

#include "limit/tzif.hpp"

namespace {

/// 0 where the word is no number.
std::int64_t number(const char* word) {
  std::int64_t value = 0;
  std::from_chars(word, word + std::strlen(word), value);
  return value;
}

}  // namespace

int main(int count, char** words) {
  using namespace weir;
  if (count != 5) return 2;
  std::ifstream file(words[1], std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto zone = read_tzif(bytes);
  if (!zone) {
    std::cerr << words[1] << ": " << describe(zone.error()) << '\n';
    return 1;
  }
  const auto unit = static_cast<CalendarUnit>(number(words[2]));
  Instant at{std::chrono::seconds{number(words[3])}};
  const Instant end{std::chrono::seconds{number(words[4])}};
  for (at = zone->window_at(unit, at - Span{1}).turns_at; at < end;
       at = zone->window_at(unit, at).turns_at) {
    std::cout << at.time_since_epoch() / std::chrono::seconds{1} << '\n';
  }
  return 0;
}
