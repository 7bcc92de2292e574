// What redis-cell 0.5.0 was observed to answer, asked of our CL.THROTTLE.
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "test/server/commands/command_runner.hpp"

namespace weir::test {
namespace {

using testing::ElementsAreArray;

TEST(ClThrottle, EqualsEveryObservedSequenceOfRedisCell) {
  std::ifstream file(WEIR_TEST_DATA "/redis_cell_vectors.tsv");
  ASSERT_TRUE(file);
  CommandRunner server;
  std::string line;
  int rows = 0;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream row(line);
    std::string sequence;
    std::string step;
    std::int64_t burst = 0;
    std::int64_t count = 0;
    std::int64_t period = 0;
    std::int64_t quantity = 0;
    std::vector<std::int64_t> expected(5);
    row >> sequence >> step >> burst >> count >> period >> quantity;
    for (std::int64_t& number : expected) row >> number;
    ASSERT_TRUE(row) << line;
    std::ostringstream command;
    command << "CL.THROTTLE seq" << sequence << ' ' << burst << ' ' << count << ' ' << period << ' '
            << quantity;
    EXPECT_THAT(server.integers(command.str()), ElementsAreArray(expected)) << line;
    server.now += std::chrono::microseconds(300);
    ++rows;
  }
  EXPECT_EQ(rows, 280);
}

}  // namespace
}  // namespace weir::test
