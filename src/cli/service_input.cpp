#include "cli/service_input.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "weir/duration.hpp"

namespace weir::cli {
namespace {

constexpr const char* phase_expected =
    "expected DURATION@LOAD or DURATION@LOADxSLOWDOWN, such as 20s@1.5 or 10s@1.5x5: whole "
    "seconds, a load from 0 to 100, a slow-down from 1 to 1000";

struct Range {
  double least;
  double most;
};

/// A number with or without decimals; none where the text is anything else or out of range.
std::optional<double> read_decimal(std::string_view text, const Range& range) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (read.ec != std::errc{} || read.ptr != end || text.front() == '-') return {};
  if (!(value >= range.least && value <= range.most)) return {};
  return value;
}

std::string decimal(double value) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end.ptr};
}

Expected<Phase, std::string> read_phase(std::string_view item) {
  const std::size_t at = item.find('@');
  if (at == std::string_view::npos) return std::string(phase_expected);
  std::string_view load = item.substr(at + 1);
  std::string_view slowdown = "1";
  if (const std::size_t times = load.find('x'); times != std::string_view::npos) {
    slowdown = load.substr(times + 1);
    load = load.substr(0, times);
  }
  const auto span = parse_duration(item.substr(0, at));
  const auto load_read = read_decimal(load, {0, 100});
  const auto slowdown_read = read_decimal(slowdown, {1, 1000});
  if (!span || !load_read || !slowdown_read) return std::string(phase_expected);
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(*span);
  if (whole != *span || whole < std::chrono::seconds{1}) return std::string(phase_expected);
  return Phase{whole, *load_read, *slowdown_read};
}

Expected<std::vector<Phase>, InputError> read_phases(const Input& input) {
  constexpr std::string_view separators = " ,\t\n";
  std::vector<Phase> phases;
  std::size_t begin = input.text.find_first_not_of(separators);
  while (begin != std::string_view::npos) {
    const std::size_t end =
        std::min(input.text.find_first_of(separators, begin), input.text.size());
    const std::string_view item = input.text.substr(begin, end - begin);
    const auto phase = read_phase(item);
    if (!phase) {
      return error_at(input, {begin + 1, phase.error() + "; got '" + printable(item) + "'"});
    }
    if (phases.size() == most_phases) {
      return error_at(input,
                      {begin + 1, "expected at most " + std::to_string(most_phases) + " phases"});
    }
    phases.push_back(*phase);
    begin = input.text.find_first_not_of(separators, end);
  }
  if (phases.empty()) return error_at(input, {1, std::string(phase_expected) + "; got nothing"});
  return phases;
}

/// A whole number that an option says; `value` stays what it is where nothing was said.
struct WholeRange {
  std::int64_t least;
  std::int64_t most;
};
template <typename Whole>
std::optional<InputError> read_whole(const Input& input, const WholeRange& range, Whole& value) {
  if (input.text.empty()) return {};
  const auto read = read_count(input, {.least = range.least});
  if (!read || *read > range.most) {
    return InputError{std::string(input.name) + " '" + printable(input.text) +
                      "': expected a whole number from " + std::to_string(range.least) + " to " +
                      std::to_string(range.most)};
  }
  value = static_cast<Whole>(*read);
  return {};
}

std::optional<InputError> read_time(const Input& input, std::chrono::nanoseconds& time) {
  if (input.text.empty()) return {};
  const auto span = read_span(input);
  if (!span) return span.error();
  if (*span < Span{1} || *span > longest_service) {
    return InputError{std::string(input.name) + " '" + printable(input.text) +
                      "': expected from 1us to " + print_duration(longest_service)};
  }
  time = *span;
  return {};
}

std::optional<InputError> too_much(const Service& service) {
  if (service.length() > longest_service) {
    return InputError{"the phases take " + print_duration(service.length()) + " in all; at most " +
                      print_duration(longest_service) + " are simulated"};
  }
  double calls = 0;
  for (const Phase& phase : service.phases) {
    calls += phase.load * service.capacity() * static_cast<double>(phase.lasts_for.count());
  }
  calls *= static_cast<double>(1 + service.retries);
  if (calls > static_cast<double>(most_service_calls)) {
    return InputError{"that would be " + std::to_string(static_cast<std::int64_t>(calls)) +
                      " calls; at most " + std::to_string(most_service_calls) +
                      " are simulated: fewer servers, a longer --service-time, shorter phases"};
  }
  return {};
}

}  // namespace

std::string text_of(const Phase& phase) {
  std::string text = print_duration(phase.lasts_for) + "@" + decimal(phase.load);
  if (phase.slowdown > 1) text += "x" + decimal(phase.slowdown);
  return text;
}

Expected<Service, InputError> read_service(const ServiceOptions& options) {
  Service service;
  const std::string phases_text = options.phases.empty() ? usual_phases : options.phases;
  auto phases = read_phases({.name = "--phases", .text = phases_text});
  if (!phases) return phases.error();
  service.phases = std::move(phases).value();
  std::int64_t percent = 50;
  const std::array errors{
      read_whole({"--servers", options.servers}, {1, 100'000}, service.servers),
      read_whole({"--spread", options.spread}, {0, 100}, percent),
      read_whole({"--retries", options.retries}, {0, 10}, service.retries),
      read_whole({"--seed", options.seed}, {0, longest_span.count()}, service.seed),
      read_time({"--service-time", options.service_time}, service.service_time),
      read_time({"--timeout", options.timeout}, service.timeout),
      read_time({"--retry-after", options.retry_after}, service.retry_after)};
  for (const auto& error : errors) {
    if (error) return *error;
  }
  service.spread = static_cast<double>(percent) / 100;
  if (const auto error = too_much(service)) return *error;
  return service;
}

}  // namespace weir::cli
