// Does something again and again, with another allocation failing each time.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <new>

#include "test/fault/failing_memory.hpp"

namespace weir::test {

enum class Fails : std::uint8_t { one, all_from_there };

/// Memory fails while this lives.
class MemoryFails {
 public:
  struct From {
    std::int64_t allocation;
    Fails which;
  };
  explicit MemoryFails(From from) {
    failing_memory() = {from.allocation, from.which == Fails::all_from_there, 0};
  }
  ~MemoryFails() { failing_memory().countdown = 0; }
  MemoryFails(const MemoryFails&) = delete;
  MemoryFails& operator=(const MemoryFails&) = delete;

  static std::int64_t failed() { return failing_memory().failed; }
};

/// For n = 1, 2, ...: before(), then action() with its n-th allocation failing, then
/// after(whether it threw bad_alloc); until no allocation is left to fail. Returns how many there
/// were.
template <typename Before, typename Action, typename After>
std::int64_t each_allocation_fails(Before&& before, Action&& action, After&& after) {
  std::int64_t most = 0;
  for (const Fails which : {Fails::one, Fails::all_from_there}) {
    for (std::int64_t nth = 1;; ++nth) {
      SCOPED_TRACE(testing::Message() << "allocation " << nth << " fails"
                                      << (which == Fails::one ? "" : ", and all later ones"));
      before();
      bool threw = false;
      {
        const MemoryFails fails({nth, which});
        try {
          action();
        } catch (const std::bad_alloc&) {
          threw = true;
        }
      }
      const bool met = MemoryFails::failed() > 0;
      after(threw);
      if (testing::Test::HasFatalFailure()) return most;
      if (!met) break;
      most = nth;
      if (nth > 100'000) {
        ADD_FAILURE() << "it goes on allocating";
        return most;
      }
    }
  }
  return most;
}

}  // namespace weir::test
