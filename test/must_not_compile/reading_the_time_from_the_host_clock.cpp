// Error: .now. is not a member|no member named .now.
// An algorithm is told the time; a clock it could read would make its answers unrepeatable.
#include "weir/vocabulary.hpp"

weir::Instant the_time(weir::Instant told) {
#ifdef WEIR_FORBIDDEN
  return weir::HostClock::now();
#else
  return told;
#endif
}
