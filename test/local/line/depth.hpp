// How deep to walk: shallow before every change, deeper when there is time.
#pragma once

#include <cstddef>

namespace weir::line_laws {

struct Depth {
  std::size_t lasting;   ///< letters of a schedule under one configuration
  std::size_t changing;  ///< the same where the numbers change too
  std::size_t drawn;     ///< events by chance, of each limit
};

extern const Depth depths;

}  // namespace weir::line_laws
