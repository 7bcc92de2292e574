// An allocator that fails when it is told to: linked into a test, or preloaded into a server.
#pragma once

#include <cstdint>

namespace weir::test {

/// What malloc and its kin do in this process from now on.
struct FailingMemory {
  std::int64_t countdown;  ///< the allocation that fails; 0: none does
  std::int64_t lasting;    ///< not 0: all later ones fail too
  std::int64_t failed;     ///< how many did
};

/// Of this process. WEIR_FAILING_MEMORY names a file of that form, for who tells it from outside.
FailingMemory& failing_memory() noexcept;

}  // namespace weir::test
