#include "server/notify.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <thread>

#include "server/worker.hpp"

namespace weir::server {
namespace {

/// A service manager's end of the protocol; it never waits.
class Manager {
 public:
  /// '@' and a name is an abstract address, anything else a path.
  explicit Manager(const std::string& address) : address_(address) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    address.copy(at.sun_path, sizeof(at.sun_path) - 1);
    const bool is_path = address.front() == '/';
    if (!is_path) at.sun_path[0] = '\0';
    const std::size_t length = offsetof(sockaddr_un, sun_path) + address.size() + (is_path ? 1 : 0);
    EXPECT_EQ(
        ::bind(socket_, reinterpret_cast<const sockaddr*>(&at), static_cast<socklen_t>(length)), 0);
  }
  ~Manager() {
    ::close(socket_);
    ::unlink(address_.c_str());
  }
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  /// The next message; "" where there is none.
  std::string heard() const {
    std::array<char, 256> bytes{};
    const auto size = ::recv(socket_, bytes.data(), bytes.size(), 0);
    return size < 0 ? "" : std::string(bytes.data(), static_cast<std::size_t>(size));
  }

 private:
  int socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  std::string address_;
};

std::string path() { return testing::TempDir() + "notify_" + std::to_string(::getpid()); }

class Environment {
 public:
  // NOLINTBEGIN(concurrency-mt-unsafe): a test has one thread
  Environment(const char* name, const std::string& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
  }
  ~Environment() { ::unsetenv(name_); }
  // NOLINTEND(concurrency-mt-unsafe)
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
};

TEST(Notify, APathHearsEachStateInItsOwnMessage) {
  const Manager manager(path());
  const Supervisor supervisor({.address = path()});
  supervisor.ready();
  supervisor.stopping();
  EXPECT_EQ(manager.heard(), "READY=1");
  EXPECT_EQ(manager.heard(), "STOPPING=1");
  EXPECT_EQ(manager.heard(), "");
}

TEST(Notify, AnAbstractNameHearsToo) {
  const std::string name = "@weir_notify_test_" + std::to_string(::getpid());
  const Manager manager(name);
  Supervisor({.address = name}).ready();
  EXPECT_EQ(manager.heard(), "READY=1");
}

TEST(Notify, AReloadTellsItsInstant) {
  const Manager manager(path());
  Supervisor({.address = path()}).reloading();
  const std::string heard = manager.heard();
  const std::string before = "RELOADING=1\nMONOTONIC_USEC=";
  ASSERT_EQ(heard.substr(0, before.size()), before);
  EXPECT_GT(heard.size(), before.size());
  EXPECT_EQ(heard.find_first_not_of("0123456789", before.size()), std::string::npos);
}

TEST(Notify, OnlyAWatchedProcessTellsThatItIsAlive) {
  const Manager manager(path());
  Supervisor({.address = path()}).alive();
  EXPECT_EQ(manager.heard(), "");
  Supervisor({.address = path(), .is_watched = true}).alive();
  EXPECT_EQ(manager.heard(), "WATCHDOG=1");
}

TEST(Notify, TheEnvironmentSaysWhoAsksAndWhetherItWatches) {
  const Manager manager(path());
  const Environment address("NOTIFY_SOCKET", path());
  const Environment span("WATCHDOG_USEC", "3000000");
  Supervisor::of_environment().alive();
  EXPECT_EQ(manager.heard(), "WATCHDOG=1");
  {
    const Environment meant("WATCHDOG_PID", std::to_string(::getpid()));
    Supervisor::of_environment().alive();
    EXPECT_EQ(manager.heard(), "WATCHDOG=1");
  }
  {
    const Environment another("WATCHDOG_PID", std::to_string(::getppid()));
    Supervisor::of_environment().alive();
    EXPECT_EQ(manager.heard(), "");
  }
  const Environment nonsense("WATCHDOG_USEC", "soon");
  Supervisor::of_environment().alive();
  EXPECT_EQ(manager.heard(), "");
  Supervisor::of_environment().ready();
  EXPECT_EQ(manager.heard(), "READY=1");
}

TEST(Notify, AnAddressOfNobodyIsHarmless) {
  for (const std::string& address :
       {std::string(), std::string("@"), std::string("relative"), std::string("vsock:2:1"),
        "/" + std::string(300, 'x'), path() + ".nobody"}) {
    Supervisor({.address = address}).ready();
  }
}

TEST(Notify, AWorkerThatHangsFallsBehindUntilItRunsAgain) {
  Rules rules;
  Service service(rules, {});
  const ConnectionLimits limits;
  Worker worker(service, limits);
  EXPECT_TRUE(worker.keeps_up());
  worker.tick();
  worker.tick();
  EXPECT_FALSE(worker.keeps_up());
  std::thread thread([&worker] { worker.run(); });
  while (!worker.keeps_up()) std::this_thread::yield();
  worker.stop();
  thread.join();
}

}  // namespace
}  // namespace weir::server
