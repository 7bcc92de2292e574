#include "test/local/admits/crowd.hpp"

namespace weir {

extern const Crowd crowd{.threads = 512, .length = std::chrono::milliseconds{2'000}};

}  // namespace weir
