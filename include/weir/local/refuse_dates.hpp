// Limits that the steady clock cannot keep.
#pragma once

#include <stdexcept>

#include "weir/limit.hpp"

namespace weir {

/// Throws std::invalid_argument for a limit that goes by dates: limiters in a process go by the
/// steady clock, which knows none. A server and a store do.
inline void refuse_dates(const Limit& limit) {
  for (const LimitTerm& term : limit.terms()) {
    if (term.algorithm == LimitTerm::Algorithm::calendar_window) {
      throw std::invalid_argument(
          "limit: calendar-window goes by dates, and a limiter in a process by the steady clock; "
          "ask a weir server or a Redis");
    }
  }
}

}  // namespace weir
