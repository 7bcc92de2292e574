// Error: no match for .operator\+.|invalid operands to binary expression
// A point in time plus a point in time has no meaning; plus a span it has.
#include "weir/vocabulary.hpp"

weir::Instant later(weir::Instant now, weir::Span wait) {
#ifdef WEIR_FORBIDDEN
  return now + now + wait;
#else
  return now + wait;
#endif
}
