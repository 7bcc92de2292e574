// Memory runs out in the middle of a command, and of a snapshot.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "server/snapshot.hpp"
#include "test/fault/each_allocation.hpp"
#include "test/server/commands/command_runner.hpp"

namespace weir::test {
namespace {

using std::string;

TEST(CommandsWithoutMemory, LeaveNoHalfStateAndNoHalfCount) {
  std::int64_t most = 0;
  for (const char* line :
       {"CL.THROTTLE alice 15 30 60",
        "CL.THROTTLE alice 15 30 60 -3",
        "WEIR.TAKE a-key-that-is-long-enough-for-the-heap 'sliding-log 7/1h' COST 3",
        "WEIR.TAKE alice @login PATIENCE 5",
        "WEIR.TAKE alice '5/1h & 7/1d'",
        "WEIR.TAKE alice 5/zz",
        "WEIR.PEEK alice '5/1h block 1h'",
        "WEIR.TAKEALL 2 alice bob 5/1h 'sliding-log 6/1h' COSTS 1 2",
        "WEIR.REFUND alice @login 2 ID once",
        "WEIR.CANCEL alice @login 1:1:1:1",
        "WEIR.RESET alice @login",
        "DEL alice bob",
        "HELLO 3 SETNAME a-name-of-twenty-letters",
        "COMMAND",
        "COMMAND DOCS",
        "INFO",
        "CLIENT SETNAME a-name-of-twenty-letters",
        "CLIENT LIST",
        "CONFIG GET *",
        "ECHO a-text-that-is-long-enough-for-the-heap",
        "EVAL x 0",
        "NOPE"}) {
    SCOPED_TRACE(line);
    std::unique_ptr<CommandRunner> runner;
    const std::int64_t met = each_allocation_fails(
        [&] {
          runner = std::make_unique<CommandRunner>(Named{{"login", "5/1h"}});
          (void)runner->bytes("CL.THROTTLE alice 15 30 60");
        },
        [&] { (void)runner->bytes(line); },
        [&](bool) {
          Table& table = runner->service().table;
          for (int call = 0; call < 20; ++call) {
            (void)runner->bytes("CL.THROTTLE alice 15 30 60");
            (void)runner->bytes("WEIR.TAKE alice @login");
          }
          EXPECT_EQ(runner->integers("CL.THROTTLE alice 15 30 60")[0], 1);
          const Instant much_later = runner->now + std::chrono::hours(24 * 365);
          for (int turn = 0; turn < 80; ++turn) table.sweep(much_later, 4096);
          EXPECT_EQ(table.stats().keys, 0u);
          EXPECT_EQ(table.stats().dropped > 0, true);
        });
    most = std::max(most, met);
  }
  EXPECT_GE(most, 5);
}

TEST(CommandsWithoutMemory, ThatWaitForExecAreRunOrNot) {
  std::unique_ptr<CommandRunner> runner;
  const std::int64_t met = each_allocation_fails(
      [&] { runner = std::make_unique<CommandRunner>(); },
      [&] {
        (void)runner->bytes("MULTI");
        (void)runner->bytes("WEIR.TAKE alice 2/1h");
        (void)runner->bytes("WEIR.TAKE a-key-that-is-long-enough-for-the-heap 2/1h");
        (void)runner->bytes("EXEC");
      },
      [&](bool) {
        runner->connection().transaction.reset();  // the connection is closed
        (void)runner->bytes("WEIR.TAKE alice 2/1h");
        (void)runner->bytes("WEIR.TAKE alice 2/1h");
        EXPECT_EQ(runner->run("WEIR.TAKE alice 2/1h").elements.at(1).text, "denied");
      });
  EXPECT_GE(met, 5);
}

TEST(SnapshotWithoutMemory, IsWholeOrNot) {
  string folder = testing::TempDir() + "weir-memory-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const string path = folder + "/states";
  const Instant now{std::chrono::seconds{1'795'000'000}};
  Rules rules;
  Table table({.shards = 4});
  const Rule* const rule = rules.find("5/1h & sliding-log 4/1h").value();
  for (int key = 0; key < 50; ++key) {
    (void)table.take({rule, "a key of more than sixteen " + std::to_string(key)}, {now, 2, {}});
  }
  ASSERT_TRUE(server::write_snapshot(table, now, path));
  const auto bytes = [&] {
    std::ifstream file(path, std::ios::binary);
    return string(std::istreambuf_iterator<char>(file), {});
  };
  const string before = bytes();
  const std::int64_t written =
      each_allocation_fails([] {}, [&] { (void)server::write_snapshot(table, now, path); },
                            [&](bool) {
                              EXPECT_EQ(bytes(), before);
                              EXPECT_FALSE(std::filesystem::exists(path + ".new"));
                            });
  EXPECT_GE(written, 3);

  std::unique_ptr<Table> second;
  const std::int64_t read = each_allocation_fails(
      [&] { second = std::make_unique<Table>(Table::Settings{.max_keys = 50, .shards = 4}); },
      [&] { (void)server::read_snapshot(path, rules, *second, now); },
      [&](bool) {
        // What was read is whole, and the rest can be read now.
        const auto again = server::read_snapshot(path, rules, *second, now);
        ASSERT_TRUE(again) << again.error().message;
        EXPECT_EQ(second->stats().keys, 50u);
        EXPECT_EQ(again->no_room, 0u);
      });
  EXPECT_GE(read, 50);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace weir::test
