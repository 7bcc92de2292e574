#include "test/model/explore.hpp"

namespace weir::model {

extern const Bounds word_bounds;
const Bounds word_bounds{.preemptions = 3, .by_chance = 20'000};

}  // namespace weir::model
