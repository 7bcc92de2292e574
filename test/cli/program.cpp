#include "test/cli/program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>

#include "cli/verbs.hpp"

namespace weir::test {
namespace {

/// The number behind each `"name":` in the text.
std::vector<std::int64_t> numbers_of(const std::string& text, const std::string& name) {
  const std::string mark = "\"" + name + "\":";
  std::vector<std::int64_t> numbers;
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    const char* begin = text.data() + at + mark.size();
    std::from_chars(begin, text.data() + text.size(), numbers.emplace_back());
  }
  return numbers;
}

char letter_of(const std::string& line) {
  constexpr std::array<std::pair<const char*, char>, 4> letters{
      {{"granted", 'G'}, {"deferred", 'W'}, {"denied", 'D'}, {"impossible", 'I'}}};
  for (const auto& [verdict, letter] : letters) {
    if (line.find(std::string("\"verdict\":\"") + verdict + "\"") != std::string::npos) {
      return letter;
    }
  }
  return '?';
}

}  // namespace

Output run_weir(const std::vector<std::string>& arguments) {
  return run_weir(arguments, {.columns = 80, .characters = cli::Characters::utf8});
}

Output run_weir(const std::vector<std::string>& arguments, const cli::Screen& screen) {
  constexpr std::array verbs{cli::add_simulate, cli::add_simulate_service, cli::add_explain,
                             cli::add_check,    cli::add_convert,          cli::add_completion,
                             cli::add_man,      cli::add_version};
  std::ostringstream out;
  std::ostringstream err;
  const cli::ExitCode code = cli::run(arguments, verbs, {out, err, screen});
  return {code, out.str(), err.str()};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

Story simulate(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "simulate");
  arguments.emplace_back("--json");
  const Output output = run_weir(arguments);
  EXPECT_EQ(output.code, cli::ExitCode::ok) << output.err;
  std::vector<std::string> lines = lines_of(output.out);
  if (lines.empty()) return {};
  Story story;
  story.most = numbers_of(lines.back(), "most");
  story.bound = numbers_of(lines.back(), "bound");
  story.ready_after_us = numbers_of(output.out, "ready_after_us");
  story.retry_after_us = numbers_of(output.out, "retry_after_us");
  lines.pop_back();
  for (const std::string& line : lines) story.verdicts += letter_of(line);
  return story;
}

std::size_t characters_in(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace weir::test
