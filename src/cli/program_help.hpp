// What weir is and what a limit is, as every help tells it.
#pragma once

#include <string_view>

namespace weir::cli {

inline constexpr std::string_view program_summary =
    "weir admits what a limit allows, and refuses or delays the rest.";

inline constexpr std::string_view program_exit_codes =
    "0 ok; 1 refused; 2 bad usage or input; 3 server not reached.";

inline constexpr std::string_view limit_help =
    R"(A LIMIT is [algorithm] COUNT/PERIOD [option...] [& LIMIT]: 100/s, '5/m & 20/h'
  algorithms  token-bucket (unless said), leaky-bucket, fixed-window,
              sliding-window, sliding-log, concurrency, calendar-window
  options     burst N, queue N, parts N, initial N, zone NAME, block DURATION
)";

}  // namespace weir::cli
