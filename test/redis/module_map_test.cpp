// Which servers have the module.
#include "redis/module_map.hpp"

#include <gtest/gtest.h>

namespace weir::redis {
namespace {

const ServerFacts with{.module = true};
const ServerFacts without{.module = false};

TEST(ModuleMap, NobodyHasItBeforeAServerWasSeen) {
  const ModuleMap map;
  EXPECT_FALSE(map.has_module(0));
  EXPECT_FALSE(map.has_module(slot_count - 1));
}

TEST(ModuleMap, SlotsThatNobodyAnsweredForAreGuessedByAllThatWereSeen) {
  ModuleMap map;
  map.answered(7, without);
  map.connected(with);
  EXPECT_TRUE(map.has_module(8));
  EXPECT_FALSE(map.has_module(7));
  map.connected(without);
  EXPECT_FALSE(map.has_module(8));
  map.connected(with);
  EXPECT_FALSE(map.has_module(8));
}

TEST(ModuleMap, ASlotIsWhatItsLastAnswerWas) {
  ModuleMap map;
  for (const std::uint16_t slot : std::initializer_list<std::uint16_t>{0, 63, 64, 16383}) {
    map.answered(slot, with);
    EXPECT_TRUE(map.has_module(slot));
  }
  map.answered(63, without);
  EXPECT_FALSE(map.has_module(63));
  EXPECT_TRUE(map.has_module(64));
  EXPECT_TRUE(map.has_module(0));
}

}  // namespace
}  // namespace weir::redis
