#include "cli/schedule.hpp"

#include <algorithm>
#include <utility>

namespace weir::cli {
namespace {

constexpr const char* expected = "expected COUNT@DURATION, such as 15@0s";

Expected<Calls, std::string> read_item(std::string_view item) {
  const std::size_t at = item.find('@');
  if (at == std::string_view::npos) return std::string(expected);
  const auto count = read_count({.name = "", .text = item.substr(0, at)}, {.least = 1});
  const auto first_at = read_span({.name = "", .text = item.substr(at + 1)});
  if (!count || !first_at) return std::string(expected);
  return Calls{Instant{*first_at}, Span{0}, *count};
}

}  // namespace

Expected<Schedule, InputError> even_schedule(const Calls& calls) {
  const Span room = longest_span - calls.first_at.time_since_epoch();
  if (room < Span{0} || (calls.every > Span{0} && (calls.count - 1) > room / calls.every)) {
    return InputError{"the last call would come later than 2^50 microseconds (35 years)"};
  }
  return Schedule{calls};
}

Expected<Schedule, InputError> read_calls(const Input& input) {
  constexpr std::string_view separators = " ,\t\n";
  Schedule schedule;
  std::size_t begin = input.text.find_first_not_of(separators);
  while (begin != std::string_view::npos) {
    const std::size_t end =
        std::min(input.text.find_first_of(separators, begin), input.text.size());
    const std::string_view item = input.text.substr(begin, end - begin);
    const auto calls = read_item(item);
    if (!calls) {
      return error_at(input, {begin + 1, calls.error() + ", got '" + printable(item) + "'"});
    }
    schedule.push_back(*calls);
    begin = input.text.find_first_not_of(separators, end);
  }
  if (schedule.empty()) return error_at(input, {1, std::string(expected) + ", got nothing"});
  std::ranges::stable_sort(schedule, {}, &Calls::first_at);
  return schedule;
}

}  // namespace weir::cli
