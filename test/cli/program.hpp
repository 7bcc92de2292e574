// The program without its process: arguments in, text out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/command_line.hpp"

namespace weir::test {

struct Output {
  cli::ExitCode code;
  std::string out;
  std::string err;
};

/// Runs the verbs that need no server, on a screen of 80 columns that shows UTF-8 without colour.
Output run_weir(const std::vector<std::string>& arguments);
Output run_weir(const std::vector<std::string>& arguments, const cli::Screen& screen);

std::vector<std::string> lines_of(const std::string& text);

/// What `weir simulate --json` told of each call, and at the end.
struct Story {
  std::string verdicts;  ///< a letter a call: Granted, deferred (W for wait), Denied, Impossible
  std::vector<std::int64_t> ready_after_us;
  std::vector<std::int64_t> retry_after_us;
  std::vector<std::int64_t> most;  ///< of each window of the summary
  std::vector<std::int64_t> bound;
};

/// Requires that the simulation runs.
Story simulate(std::vector<std::string> arguments);

/// The characters of a UTF-8 text.
std::size_t characters_in(const std::string& text);

}  // namespace weir::test
