// Error: could not convert|no viable conversion|cannot convert
// A number alone does not say its unit or its epoch.
#include "weir/vocabulary.hpp"

weir::Request at_the_thousandth_tick() {
#ifdef WEIR_FORBIDDEN
  return {.now = 1000};
#else
  return {.now = weir::Instant{weir::Span{1000}}};
#endif
}
