#include "weir/local/machine_load.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace weir {
namespace {

using std::string;
using std::string_view;

constexpr auto unknown = LoadReadings::unknown;

TEST(MachineLoadText, IsRead) {
  EXPECT_EQ(parse_load_average("2.95 2.16 1.31 6/113 10475\n"), (LoadAverage{2'950, 6}));
  EXPECT_EQ(parse_load_average("0.05 0.00 0.00 1/1 1\n"), (LoadAverage{50, 1}));
  EXPECT_EQ(parse_machine_times("cpu  10 2 30 400 50 6 7 8 9 9\ncpu0 1 1 1 1\n"),
            (MachineTimes{513, 450}));
  EXPECT_EQ(parse_process_time("7 (sh) S 1 1 1 0 -1 4194560 1 2 3 4 57 31 0 0 20 0\n"), 88u);
  EXPECT_EQ(parse_process_time("7 (a) b (c) S 1 1 1 0 -1 41 1 2 3 4 57 31 0 0 20 0\n"), 88u);
  EXPECT_EQ(parse_pressure("some avg10=37.33 avg60=11.88 avg300=4.42 total=1\nfull ..."), 373);
  EXPECT_EQ(parse_pressure("some avg10=100.00 avg60=1.00"), 1'000);
  EXPECT_EQ(parse_cpu_limit("150000 100000\n"), 1'500);
  EXPECT_EQ(parse_cpu_limit("max 100000\n"), std::nullopt);
  EXPECT_EQ(parse_group("9:cpu:/\n0::/user.slice/a\n"), "/user.slice/a");
  EXPECT_EQ(count_processors("cpu  1 1\ncpu0 1 1\ncpu1 1 1\nintr 5 cpu2\n"), 2);
}

TEST(MachineLoadText, IsNoneWhereItIsSomethingElse) {
  for (const string_view text : {"",
                                 " ",
                                 "\n",
                                 "0",
                                 "0.2",
                                 "0.20 0.18 0.12",
                                 "-1.00 0 0 1/2 3\n",
                                 "a.20 0 0 1/2 3\n",
                                 "some avg10=101.00 x",
                                 "some avg10=-1.00 x",
                                 "some avg10=1 x",
                                 "max\n",
                                 "1 0\n",
                                 "x 1\n",
                                 "cpu  1 2 3\n",
                                 "cpu 1 2 3 4 5 6 7 x\n",
                                 "cpu0 1 2 3 4 5 6 7 8\n",
                                 "0:/a\n",
                                 "0::/../../x\n",
                                 "0::relative\n",
                                 "7 (sh S 1 1 1 0 -1 4194560 1 2 3 4 57 31 0 0 20 0\n",
                                 "99999999999999999999.00 0 0 1/2 3\n",
                                 "1.00 0 0 99999999999999999999/2 3\n",
                                 "cpu 18446744073709551615 18446744073709551615 1 1 1 1 1 1 1\n"}) {
    EXPECT_FALSE(parse_load_average(text)) << text;
    EXPECT_FALSE(parse_machine_times(text)) << text;
    EXPECT_FALSE(parse_process_time(text)) << text;
    EXPECT_FALSE(parse_pressure(text)) << text;
    EXPECT_FALSE(parse_cpu_limit(text)) << text;
    EXPECT_FALSE(parse_group(text)) << text;
  }
}

template <typename Parse>
void expect_no_smaller_number(string_view text, const Parse& parse) {
  const auto whole = parse(text);
  ASSERT_TRUE(whole) << text;
  for (std::size_t size = 0; size < text.size(); ++size) {
    const auto cut = parse(text.substr(0, size));
    EXPECT_TRUE(!cut || *cut == *whole) << text.substr(0, size);
  }
}

TEST(MachineLoadText, CutOffIsNoneOrTheSame) {
  expect_no_smaller_number("12.95 2.16 1.31 16/113 10475\n", parse_load_average);
  expect_no_smaller_number("cpu  10 22 30 400 50 61 73 84 9 9\n", parse_machine_times);
  expect_no_smaller_number("77 (s) h) S 1 1 1 0 -1 419 1 2 3 4 57 31 0 0 20 0\n",
                           parse_process_time);
  expect_no_smaller_number("some avg10=37.33 avg60=11.88 total=1\n", parse_pressure);
  expect_no_smaller_number("150000 100000\n", parse_cpu_limit);
  expect_no_smaller_number("9:cpu:/\n0::/user.slice/a\n", parse_group);
}

/// A machine of files.
class MachineLoadTest : public testing::Test {
 protected:
  std::filesystem::path folder = std::filesystem::path(testing::TempDir()) /
                                 (string("weir_machine_load_") +
                                  testing::UnitTest::GetInstance()->current_test_info()->name());

  void SetUp() override {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder / "proc/self");
    std::filesystem::create_directories(folder / "proc/pressure");
    std::filesystem::create_directories(folder / "groups/a");
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  void write(const string& name, const string& text) const { std::ofstream(folder / name) << text; }
  /// Of two processors, in ticks.
  void times(int busy, int idle, int process) const {
    write("proc/stat", "cpu  " + std::to_string(busy) + " 0 0 " + std::to_string(idle) +
                           " 0 0 0 0 0 0\ncpu0 0\ncpu1 0\nintr 1\n");
    write("proc/self/stat",
          "7 (x) S 1 1 1 0 -1 41 1 2 3 4 " + std::to_string(process) + " 0 0 0 20 0\n");
  }
  MachineLoad machine() const {
    return MachineLoad({.proc = folder / "proc", .groups = folder / "groups"});
  }
};

TEST_F(MachineLoadTest, IsWhatTheFilesSay) {
  times(1'000, 5'000, 100);
  write("proc/loadavg", "3.00 0 0 5/100 7\n");
  write("proc/pressure/cpu", "some avg10=12.50 avg60=0.00\n");
  MachineLoad load = machine();
  times(1'150, 5'050, 150);
  EXPECT_EQ(load.read(), (LoadReadings{.load_per_core = 1'500,
                                       .machine_cpu = 750,
                                       .process_cpu = 250,
                                       .cpu_pressure = 125,
                                       .run_queue_per_core = 2'500}));
  times(1'150, 5'250, 150);
  EXPECT_EQ(load.read().machine_cpu, 0);
}

TEST_F(MachineLoadTest, InAGroupIsWhatTheGroupMayUse) {
  times(1'000, 5'000, 100);
  write("proc/self/cgroup", "0::/a\n");
  write("proc/pressure/cpu", "some avg10=12.50 avg60=0.00\n");
  write("groups/a/cpu.max", "50000 100000\n");
  write("groups/a/cpu.pressure", "some avg10=80.00 avg60=0.00\n");
  MachineLoad load = machine();
  times(1'050, 5'150, 125);
  const LoadReadings readings = load.read();
  EXPECT_EQ(readings.cpu_pressure, 800);
  EXPECT_EQ(readings.machine_cpu, 250);
  EXPECT_EQ(readings.process_cpu, 500) << "an eighth of two processors is half of a half";
}

TEST_F(MachineLoadTest, WithoutFilesIsUnknown) {
  MachineLoad load = machine();
  EXPECT_EQ(load.read(), LoadReadings{});
  EXPECT_EQ(MachineLoad({.proc = "", .groups = ""}).read(), LoadReadings{});
  write("proc/loadavg", "rubbish");
  write("proc/stat", string(100'000, 'x'));
  EXPECT_EQ(load.read(), LoadReadings{});
}

TEST_F(MachineLoadTest, WithinATickStaysAsItWasAndIsReadAnewAfterALeapBack) {
  times(1'000, 5'000, 100);
  MachineLoad load = machine();
  EXPECT_EQ(load.read().machine_cpu, unknown);
  times(1'100, 5'100, 150);
  EXPECT_EQ(load.read().machine_cpu, 500);
  EXPECT_EQ(load.read().machine_cpu, 500);
  EXPECT_EQ(load.read().process_cpu, 250);
  times(10, 10, 1);  // another machine: a process that was moved
  EXPECT_EQ(load.read().machine_cpu, unknown);
  times(110, 10, 51);
  EXPECT_EQ(load.read().machine_cpu, 1'000);
  EXPECT_EQ(load.read().process_cpu, 500);
}

TEST(MachineLoadHere, ReadsThisMachine) {
  MachineLoad load;
  const LoadReadings readings = load.read();
  for (const std::int32_t reading : readings.all()) EXPECT_GE(reading, unknown);
#ifdef __linux__
  EXPECT_GE(readings.run_queue_per_core, 0);
#endif
}

}  // namespace
}  // namespace weir
