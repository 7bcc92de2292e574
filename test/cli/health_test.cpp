#include "cli/health.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace weir::test {
namespace {

using cli::Answerer;
using cli::Binding;
using cli::Finding;
using cli::Health;
using cli::Machine;
using cli::Plan;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// A machine where all is well, made of files below a folder and of facts that a test may change.
class Doctor : public ::testing::Test {
 protected:
  Doctor() {
    folder_ = std::filesystem::temp_directory_path() / ("weir-doctor-" + std::to_string(getpid()));
    std::filesystem::remove_all(folder_);
    machine.root = folder_;
    machine.bind = [](const std::string&) { return Binding{}; };
    machine.ask_resp = machine.ask_metrics = [](const std::string&) { return Answerer{}; };
    machine.descriptors = 65'536;
    machine.clock_synchronised = true;
    machine.clock_nanoseconds = 25;
    machine.processors = 4;
    plan.threads = 4;
    put("proc/sys/net/core/somaxconn", "4096\n");
    put("proc/sys/net/ipv4/tcp_max_syn_backlog", "2048\n");
    put("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
    put("proc/sys/vm/overcommit_memory", "0\n");
    put("proc/meminfo", "MemTotal:  8000000 kB\nMemAvailable:    4000000 kB\n");
    put("proc/self/cgroup", "0::/system.slice/weir.service\n");
  }
  ~Doctor() override { std::filesystem::remove_all(folder_); }

  void put(const char* name, const std::string& text) {
    const std::filesystem::path file = folder_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void remove(const char* name) { std::filesystem::remove(folder_ / name); }

  Finding on(const std::string& subject) const {
    for (const Finding& finding : cli::examine(machine, plan)) {
      if (finding.subject == subject) return finding;
    }
    ADD_FAILURE() << "nothing on " << subject;
    return {};
  }

  void expect(Health health, const std::string& subject, const std::string& seen,
              const std::string& mend) const {
    const Finding finding = on(subject);
    EXPECT_EQ(finding.health, health) << finding.seen;
    EXPECT_EQ(finding.seen, seen);
    EXPECT_EQ(finding.mend, mend);
  }

  Machine machine;
  Plan plan;

 private:
  std::filesystem::path folder_;
};

TEST_F(Doctor, FindsNothingWrongWhereAllIsWell) {
  const auto findings = cli::examine(machine, plan);
  EXPECT_EQ(findings.size(), 10U);
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.health, Health::ok) << finding.subject << ": " << finding.seen;
    EXPECT_THAT(finding.mend, IsEmpty()) << finding.subject;
  }
  EXPECT_EQ(cli::worst(findings), Health::ok);
}

TEST_F(Doctor, NamesAMendForWhateverIsWrong) {
  machine.bind = [](const std::string&) { return Binding{Binding::Outcome::in_use}; };
  machine.descriptors = 100;
  machine.clock_synchronised = false;
  put("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
  put("proc/sys/net/core/somaxconn", "128");
  put("proc/sys/net/ipv4/tcp_max_syn_backlog", "128");
  put("proc/meminfo", "MemAvailable: 1000 kB\n");
  put("proc/sys/vm/overcommit_memory", "2");
  plan.threads = 64;
  for (const Finding& finding : cli::examine(machine, plan)) {
    EXPECT_NE(finding.health, Health::ok) << finding.subject;
    EXPECT_THAT(finding.mend, Not(IsEmpty())) << finding.subject;
  }
}

TEST_F(Doctor, KnowsAServerThatRunsAlready) {
  machine.bind = [](const std::string&) { return Binding{Binding::Outcome::in_use}; };
  machine.ask_resp = [](const std::string&) { return Answerer{Answerer::Kind::weir, "0.1.0"}; };
  machine.ask_metrics = [](const std::string&) { return Answerer{Answerer::Kind::weir}; };
  expect(Health::ok, "resp", "weir 0.1.0 answers at 127.0.0.1:7379", "");
  expect(Health::ok, "metrics", "weir answers at 127.0.0.1:7390", "");
}

TEST_F(Doctor, FailsOnAnAddressThatCannotBeHad) {
  machine.bind = [](const std::string&) { return Binding{Binding::Outcome::in_use}; };
  machine.ask_resp = [](const std::string&) {
    return Answerer{Answerer::Kind::other, "Redis 7.0.15"};
  };
  expect(Health::fail, "resp", "127.0.0.1:7379 is taken by another program: Redis 7.0.15",
         "stop it, or choose another port with --resp");
  expect(Health::fail, "metrics", "127.0.0.1:7390 is in use, and nothing answers there",
         "see who it is: ss -ltnp; or choose another port with --metrics");
  machine.bind = [](const std::string&) {
    return Binding{Binding::Outcome::impossible, "cannot listen on 8.8.8.8:1: no"};
  };
  expect(Health::fail, "resp", "cannot listen on 8.8.8.8:1: no",
         "choose an address of this machine with --resp HOST:PORT");
}

TEST_F(Doctor, LeavesOutMetricsThatAreOff) {
  plan.metrics = "off";
  for (const Finding& finding : cli::examine(machine, plan)) EXPECT_NE(finding.subject, "metrics");
}

TEST_F(Doctor, CountsDescriptorsForEachClient) {
  plan.max_connections = 10'000;
  machine.descriptors = 10'048;
  expect(Health::ok, "descriptors", "10000 clients fit into the limit", "");
  machine.descriptors = 10'047;
  expect(Health::warn, "descriptors", "10047 allowed, --max-connections 10000 needs 10048",
         "ulimit -n 10048 (systemd: LimitNOFILE=), or fewer --max-connections");
  machine.descriptors = 255;
  EXPECT_EQ(on("descriptors").health, Health::fail);
}

TEST_F(Doctor, WarnsOfShortQueues) {
  put("proc/sys/net/core/somaxconn", "1023\n");
  put("proc/sys/net/ipv4/tcp_max_syn_backlog", "128\n");
  EXPECT_EQ(on("accept queue").health, Health::warn);
  EXPECT_EQ(on("accept queue").mend, "sysctl -w net.core.somaxconn=1024");
  EXPECT_EQ(on("handshake queue").mend, "sysctl -w net.ipv4.tcp_max_syn_backlog=1024");
  remove("proc/sys/net/core/somaxconn");
  expect(Health::ok, "accept queue", "not known here", "");
}

TEST_F(Doctor, WarnsOfASlowClock) {
  put("sys/devices/system/clocksource/clocksource0/current_clocksource", "acpi_pm\n");
  machine.clock_nanoseconds = 25;
  EXPECT_EQ(on("clock").health, Health::warn);
  EXPECT_THAT(on("clock").seen, HasSubstr("acpi_pm, 25 ns"));
  put("sys/devices/system/clocksource/clocksource0/current_clocksource", "kvm-clock\n");
  expect(Health::ok, "clock", "kvm-clock, 25 ns a reading", "");
  machine.clock_nanoseconds = 251;
  EXPECT_EQ(on("clock").health, Health::warn);
}

TEST_F(Doctor, WarnsOfAClockThatDrifts) {
  machine.clock_synchronised = false;
  EXPECT_EQ(on("time").health, Health::warn);
  EXPECT_EQ(on("time").mend, "run chrony or systemd-timesyncd");
  machine.clock_synchronised.reset();
  expect(Health::ok, "time", "the system does not tell", "");
}

TEST_F(Doctor, HoldsMemoryAgainstTheKeys) {
  plan.max_keys = 1'000'000;  // 128 MB: 125 000 KiB
  put("proc/meminfo", "MemAvailable: 156250 kB\n");
  EXPECT_EQ(on("memory").health, Health::ok);
  put("proc/meminfo", "MemAvailable: 156249 kB\n");
  expect(Health::warn, "memory", "--max-keys 1000000 needs about 122 MiB, 152 MiB available",
         "--max-keys 999993, or more memory");
  put("proc/meminfo", "MemAvailable: 100000 kB\n");
  EXPECT_EQ(on("memory").health, Health::fail);
  put("proc/meminfo", "");
  EXPECT_EQ(on("memory").health, Health::ok);
  EXPECT_THAT(on("memory").seen, HasSubstr("not known here"));
}

TEST_F(Doctor, HoldsTheControlGroupsMemoryAgainstTheKeys) {
  put("sys/fs/cgroup/system.slice/weir.service/memory.max", "max\n");
  EXPECT_EQ(on("memory").health, Health::ok);
  put("sys/fs/cgroup/system.slice/memory.max", "104857600\n");  // of the group around ours
  EXPECT_EQ(on("memory").health, Health::fail);
  EXPECT_THAT(on("memory").seen, HasSubstr("100 MiB allowed by the control group"));
}

TEST_F(Doctor, ReadsControlGroupsOfVersionOne) {
  put("proc/self/cgroup", "4:memory:/box\n3:cpu,cpuacct:/box\n0::/\n");
  put("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "104857600\n");
  EXPECT_EQ(on("memory").health, Health::fail);
  put("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "-1\n");
  put("sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(on("processors").health, Health::ok);
  put("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "150000\n");
  EXPECT_THAT(on("processors").seen, HasSubstr("a quota of 1.50 processors"));
}

TEST_F(Doctor, WarnsOfStrictOvercommit) {
  put("proc/sys/vm/overcommit_memory", "2\n");
  put("proc/meminfo",
      "MemAvailable: 4000000 kB\nCommitLimit: 300000 kB\nCommitted_AS: 100000 kB\n");
  EXPECT_EQ(on("overcommit").health, Health::ok);
  put("proc/meminfo",
      "MemAvailable: 4000000 kB\nCommitLimit: 200000 kB\nCommitted_AS: 100000 kB\n");
  expect(Health::warn, "overcommit",
         "strict (mode 2), 97 MiB left to promise, --max-keys needs 122 MiB",
         "sysctl -w vm.overcommit_memory=0, or a larger vm.overcommit_ratio");
}

TEST_F(Doctor, HoldsTheQuotaAgainstTheThreads) {
  put("sys/fs/cgroup/system.slice/weir.service/cpu.max", "400000 100000\n");
  EXPECT_EQ(on("processors").health, Health::ok);
  put("sys/fs/cgroup/system.slice/weir.service/cpu.max", "205000 100000\n");
  expect(Health::warn, "processors",
         "--threads 4 under a quota of 2.05 processors: once it is spent all of them stand still",
         "--threads 2, or a larger quota");
  put("sys/fs/cgroup/system.slice/weir.service/cpu.max", "max 100000\n");
  plan.threads = 5;
  expect(Health::warn, "processors",
         "--threads 5 on 4 processors: more threads than run at once only wait", "--threads 4");
}

}  // namespace
}  // namespace weir::test
