// Keyed words under far more threads than cores.
#include "test/local/keyed_threads.hpp"

namespace weir {
namespace {

TEST(ThreadsOnKeyedWords, GrantNoMoreThanTheBoundWhenThereAre512) {
  expect_within_bound({.threads = 512, .calls = 5'000, .others = 3'000});
}

}  // namespace
}  // namespace weir
