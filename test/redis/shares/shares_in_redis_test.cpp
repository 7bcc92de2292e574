// Processes that share a limit over a real Redis, while both come, freeze and go.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "test/history/check.hpp"
#include "test/redis/await.hpp"
#include "test/wire/redis_server.hpp"
#include "weir/redis/client.hpp"
#include "weir/redis/shares.hpp"

namespace weir::redis {
namespace {

using namespace std::chrono_literals;
using test::await;

constexpr std::size_t most_processes = 10;
constexpr std::size_t most_calls = 1 << 17;

SharedRateSettings limit_of(Division division) {
  return {.name = "limit",
          .count = 1'000,
          .period = 1s,
          .burst = 50,
          .division = division,
          .lease = 2s};
}

/// What a process writes for the test to read, while it runs and when it is killed.
struct Report {
  struct Call {
    std::int64_t called_at_ns;
    std::atomic<std::int64_t> returned_at_ns;  ///< 0: not yet
    bool admitted;
  };
  std::atomic<bool> over;
  std::atomic<bool> idle;  ///< the process asks for nothing
  std::atomic<std::int64_t> calls;
  std::atomic<std::int64_t> admitted;
  std::atomic<double> part;
  Call call[most_calls];
};

/// In memory that the test and its processes share.
class Reports {
 public:
  Reports() {
    void* const memory = ::mmap(nullptr, sizeof(Report) * most_processes, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    reports_ = static_cast<Report*>(memory);
  }
  ~Reports() { ::munmap(reports_, sizeof(Report) * most_processes); }
  Reports(const Reports&) = delete;
  Reports& operator=(const Reports&) = delete;

  Report& operator[](std::size_t at) { return reports_[at]; }

 private:
  Report* reports_;
};

std::int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

/// The life of one process: takes what it can get every two milliseconds.
void use(const std::string& url, const SharedRateSettings& settings, Report& report) {
  auto connected = Client::connect(url);
  const std::unique_ptr<Client> client = std::move(connected).value();
  SharedRate rate(*client, settings);
  while (!report.over && report.calls < static_cast<std::int64_t>(most_calls)) {
    const std::int64_t next_at = now_ns() + 2'000'000;
    bool more = !report.idle;
    while (more && report.calls < static_cast<std::int64_t>(most_calls)) {
      Report::Call& call = report.call[report.calls++];
      call.called_at_ns = now_ns();
      call.admitted = more = bool(rate.try_acquire());
      call.returned_at_ns = now_ns();
      report.admitted += call.admitted ? 1 : 0;
    }
    report.part = rate.share().part;
    while (now_ns() < next_at) std::this_thread::yield();
  }
}

class SharesInRedis : public testing::TestWithParam<Division> {
 protected:
  ~SharesInRedis() override {
    for (const pid_t process : processes_) {
      ::kill(process, SIGKILL);
      ::waitpid(process, nullptr, 0);
    }
  }

  std::size_t start() {
    const std::size_t at = processes_.size();
    const std::string url = "redis://127.0.0.1:" + std::to_string(server_.port());
    const pid_t process = ::fork();
    if (process < 0) throw std::runtime_error("no process");
    if (process == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      use(url, limit_of(GetParam()), reports_[at]);
      ::_exit(0);
    }
    processes_.push_back(process);
    return at;
  }
  void signal(std::size_t at, int number) { ::kill(processes_[at], number); }

  std::int64_t admitted() {
    std::int64_t sum = 0;
    for (std::size_t at = 0; at < processes_.size(); ++at) sum += reports_[at].admitted;
    return sum;
  }
  void await_more(const char* when, std::int64_t more) {
    const std::int64_t before = admitted();
    await(std::string("units are let in ") + when, [&] { return admitted() >= before + more; });
  }
  void finish() {
    for (std::size_t at = 0; at < processes_.size(); ++at) reports_[at].over = true;
    for (const pid_t process : processes_) ::waitpid(process, nullptr, 0);
  }

  history::History recorded() {
    history::History all;
    for (std::size_t at = 0; at < processes_.size(); ++at) {
      const Report& report = reports_[at];
      for (std::int64_t number = 0; number < report.calls; ++number) {
        const Report::Call& call = report.call[number];
        const std::int64_t returned_at_ns = call.returned_at_ns;
        if (returned_at_ns == 0) continue;  // it was killed, and nobody acted
        all.push_back({.client = static_cast<std::uint32_t>(at),
                       .called_at_ns = call.called_at_ns,
                       .returned_at_ns = returned_at_ns,
                       .admitted = call.admitted});
      }
    }
    return all;
  }
  void expect_the_limit_kept() {
    const SharedRateSettings limit = limit_of(GetParam());
    const auto members = static_cast<std::int64_t>(processes_.size());
    const history::Report found =
        history::check_admissions(recorded(), history::Bucket{.burst = limit.burst + members,
                                                              .count = limit.count,
                                                              .period_ns = limit.period.count()});
    EXPECT_TRUE(found.kept()) << found.violations << " violations; " << found.explanation;
  }

  wire::RedisServer server_{{.arguments = {"--save", ""}}};
  Reports reports_;
  std::vector<pid_t> processes_;
};

TEST_P(SharesInRedis, KeepTheLimitWhateverBecomesOfMembersAndOfTheRegistry) {
  for (int process = 0; process < 8; ++process) start();
  await_more("by eight", 1'000);
  signal(0, SIGKILL);
  signal(1, SIGSTOP);
  start();
  await_more("while one is dead, one is stopped and one has joined", 3'000);
  signal(1, SIGCONT);
  await_more("after one goes on", 1'000);
  server_.kill();
  server_.restart();
  await_more("by a registry that has forgotten all", 3'000);
  server_.freeze();
  await("all leases have ended", [&] {
    for (std::size_t at = 1; at < processes_.size(); ++at) {
      if (reports_[at].part > 0) return false;
    }
    return true;
  });
  server_.thaw();
  await_more("after the registry was frozen", 1'000);
  finish();
  expect_the_limit_kept();
}

class SharesByDemandInRedis : public SharesInRedis {};

TEST_P(SharesByDemandInRedis, GoToThoseWhoAsk) {
  for (int process = 0; process < 4; ++process) start();
  await_more("by four", 1'000);
  reports_[2].idle = true;
  reports_[3].idle = true;
  await("the two have it", [&] {
    return reports_[0].part + reports_[1].part > 0.95 && reports_[2].part < 0.02 &&
           reports_[3].part < 0.02;
  });
  reports_[3].idle = false;
  await("the three have it", [&] {
    return reports_[0].part + reports_[1].part + reports_[3].part > 0.95 && reports_[3].part > 0.25;
  });
  finish();
  expect_the_limit_kept();
}

constexpr auto by_name = [](const auto& tested) { return std::string(name(tested.param)); };
INSTANTIATE_TEST_SUITE_P(Divisions, SharesInRedis, testing::Values(Division::equal, Division::fair),
                         by_name);
INSTANTIATE_TEST_SUITE_P(Divisions, SharesByDemandInRedis,
                         testing::Values(Division::proportional, Division::fair), by_name);

}  // namespace
}  // namespace weir::redis
