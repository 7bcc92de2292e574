#include "cli/input.hpp"

#include <algorithm>
#include <charconv>
#include <ostream>

#include "weir/duration.hpp"

namespace weir::cli {
namespace {

constexpr Cost most = longest_span.count();

std::string quoted(const Input& input) {
  return std::string(input.name) + " '" + printable(input.text) + "': ";
}

}  // namespace

std::string printable(std::string_view text) {
  std::string plain(text);
  for (char& c : plain) {
    if (c < ' ' || c > '~') c = '?';
  }
  return plain;
}

void report(std::ostream& err, const InputError& error) {
  err << "weir: " << error.message << '\n';
  if (!error.at || error.text.empty()) return;
  err << "  " << printable(error.text) << '\n' << std::string(2 + *error.at, ' ') << "^\n";
}

InputError error_at(const Input& input, const LimitError& error) {
  return {quoted(input) + "column " + std::to_string(error.column) + ": " + error.message,
          std::string(input.text), error.column - 1};
}

Expected<Limit, InputError> read_limit(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  auto limit = Limit::parse(text);
  if (!limit) return error_at({.name = "limit", .text = text}, limit.error());
  return std::move(limit).value();
}

Expected<Span, InputError> read_span(const Input& input) {
  const auto span = parse_duration(input.text);
  if (!span) return InputError{quoted(input) + describe(span.error())};
  return *span;
}

Expected<Cost, InputError> read_count(const Input& input, CountRange range) {
  std::string_view digits = input.text;
  Cost times = 1;
  if (digits.ends_with('k')) times = 1'000;
  if (digits.ends_with('M')) times = 1'000'000;
  if (times > 1) digits.remove_suffix(1);
  Cost count = 0;
  const char* end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, count);
  const bool whole = read.ec == std::errc{} && read.ptr == end && digits[0] != '-';
  if (!whole || count > most / times || count * times < range.least) {
    return InputError{quoted(input) + "expected a whole number from " +
                      std::to_string(range.least) + " to 2^50, such as 20, 10k or 1M"};
  }
  return count * times;
}

std::optional<InputError> read_size(const Input& input, std::size_t& size) {
  if (input.text.empty()) return {};
  const auto count = read_count(input, {.least = 1});
  if (!count) return count.error();
  size = static_cast<std::size_t>(*count);
  return {};
}

}  // namespace weir::cli
