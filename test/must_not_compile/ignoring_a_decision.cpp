// Error: unused-result|unused-value|nodiscard
// A limit whose answer nobody reads limits nothing.
#include "weir/vocabulary.hpp"

weir::Decision decide();

bool act() {
#ifdef WEIR_FORBIDDEN
  decide();
  return true;
#else
  return weir::taken(decide().verdict);
#endif
}
