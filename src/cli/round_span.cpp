#include "cli/round_span.hpp"

#include <array>

namespace weir::cli {

Span round_span(Span least) {
  constexpr std::array steps{1, 2, 5};
  constexpr Span second{1'000'000};
  constexpr Span day = 86'400 * second;
  for (Span power{1}; power < second; power *= 10) {
    for (const int step : steps) {
      if (step * power >= least) return step * power;
    }
  }
  for (const int seconds : {1, 2, 5, 10, 30, 60, 120, 300, 600, 1'800, 3'600, 7'200, 21'600}) {
    if (seconds * second >= least) return seconds * second;
  }
  for (Span power = day;; power *= 10) {
    for (const int step : steps) {
      if (step * power >= least) return step * power;
    }
  }
}

}  // namespace weir::cli
