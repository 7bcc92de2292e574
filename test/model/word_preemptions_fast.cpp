#include "test/model/explore.hpp"

namespace weir::model {

extern const Bounds word_bounds;
#ifdef __SANITIZE_THREAD__  // it looks for races in each schedule, so that fewer do
const Bounds word_bounds{.preemptions = 1, .by_chance = 20};
#else
const Bounds word_bounds{.preemptions = 1, .by_chance = 500};
#endif

}  // namespace weir::model
