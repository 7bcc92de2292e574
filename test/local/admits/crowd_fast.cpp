#include "test/local/admits/crowd.hpp"

namespace weir {

extern const Crowd crowd{.threads = 64, .length = std::chrono::milliseconds{60}};

}  // namespace weir
