// How many ask at once: enough before every change, far more when there is time.
#pragma once

#include <chrono>
#include <cstddef>

namespace weir {

struct Crowd {
  std::size_t threads;
  std::chrono::milliseconds length;
};

extern const Crowd crowd;

}  // namespace weir
