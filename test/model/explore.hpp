// Every schedule of a few threads within a bound, and some by chance beyond it.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace weir::model {

/// One scene: what its threads do, and afterwards what is wrong (empty: nothing). Made anew for
/// each schedule, and the same each time.
struct Scene {
  std::vector<std::function<void()>> threads;
  std::function<std::string()> judge;
};

struct Bounds {
  std::size_t preemptions = 2;  ///< all schedules with at most so many
  std::size_t by_chance = 300;  ///< further ones with any number, from fixed seeds
};

struct Explored {
  std::size_t schedules = 0;
  std::size_t longest = 0;  ///< choices of a schedule
  std::string fault;        ///< of the first schedule that has one, with its choices
};

Explored explore(const std::function<Scene()>& make, const Bounds& bounds);

}  // namespace weir::model
