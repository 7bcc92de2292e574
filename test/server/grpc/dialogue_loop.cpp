#include "test/server/grpc/dialogue_loop.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace weir::test {
namespace {

constexpr std::size_t read_bytes = std::size_t{64} << 10;

/// What comes later here comes on the same thread.
class LoopCarrier final : public server::Carrier {
 public:
  void post(std::function<void()> action) override { action(); }
  void resume() override {}
};

struct Connection {
  std::unique_ptr<server::Dialogue> dialogue{};
  std::string output{};
  std::size_t sent = 0;
};

class Loop {
 public:
  explicit Loop(const server::DialogueMaker& make)
      : make_(make), poll_(epoll_create1(EPOLL_CLOEXEC)) {}

  void listen(std::uint16_t port) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int on = 1;
    setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (bind(listener_, generic, size) != 0 || ::listen(listener_, 128) != 0 ||
        getsockname(listener_, generic, &size) != 0) {
      throw std::system_error(errno, std::generic_category(), "listen on 127.0.0.1");
    }
    watch(listener_);
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &ending, nullptr);
    signal_ = signalfd(-1, &ending, SFD_CLOEXEC);
    watch(signal_);
    clock_ = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    const itimerspec every_second{{1, 0}, {1, 0}};
    timerfd_settime(clock_, 0, &every_second, nullptr);
    watch(clock_);
    std::printf("grpc 127.0.0.1:%u\n", static_cast<unsigned>(ntohs(address.sin_port)));
    std::fflush(stdout);
  }

  void run() {
    std::array<epoll_event, 256> events{};
    while (!drains_ || open_ > 0) {
      const int count = epoll_wait(poll_, events.data(), events.size(), -1);
      for (int i = 0; i < count; ++i) meet(events[static_cast<std::size_t>(i)]);
    }
  }

 private:
  void watch(int file) const {
    epoll_event event{.events = EPOLLIN, .data = {.fd = file}};
    epoll_ctl(poll_, EPOLL_CTL_ADD, file, &event);
  }

  void meet(const epoll_event& event) {
    const int file = event.data.fd;
    if (file == listener_) return accept_one();
    if (file == signal_ || file == clock_) return tell_all(file);
    if (!connections_[static_cast<std::size_t>(file)].dialogue) return;
    if ((event.events & EPOLLIN) != 0) return hear(file);
    flush(file);
  }

  void accept_one() {
    const int accepted = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (accepted < 0) return;
    const int on = 1;
    setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const auto place = static_cast<std::size_t>(accepted);
    if (connections_.size() <= place) connections_.resize(place + 1);
    connections_[place] = {};
    connections_[place].dialogue = make_(std::make_shared<LoopCarrier>());
    ++open_;
    watch(accepted);
  }

  void tell_all(int file) {
    std::array<char, 256> told{};
    if (read(file, told.data(), told.size()) < 0) return;
    if (file == signal_) drains_ = true;
    for (std::size_t at = 0; at < connections_.size(); ++at) {
      if (!connections_[at].dialogue) continue;
      if (file == signal_) {
        connections_[at].dialogue->drain();
      } else {
        connections_[at].dialogue->tick();
      }
      flush(static_cast<int>(at));
    }
  }

  void hear(int file) {
    Connection& connection = connections_[static_cast<std::size_t>(file)];
    const ssize_t size = read(file, buffer_.data(), buffer_.size());
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size <= 0) return end(file);
    connection.dialogue->receive({buffer_.data(), static_cast<std::size_t>(size)});
    flush(file);
  }

  void flush(int file) {
    Connection& connection = connections_[static_cast<std::size_t>(file)];
    for (;;) {
      if (connection.output.empty()) connection.dialogue->write(connection.output, read_bytes);
      if (connection.output.empty()) break;
      const ssize_t sent =
          ::send(file, connection.output.data() + connection.sent,
                 connection.output.size() - connection.sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && errno == EAGAIN) return want(file, EPOLLOUT);
      if (sent < 0) return end(file);
      connection.sent += static_cast<std::size_t>(sent);
      if (connection.sent < connection.output.size()) continue;
      connection.output.clear();
      connection.sent = 0;
    }
    if (connection.dialogue->ended()) return end(file);
    want(file, EPOLLIN);
  }

  /// Changed only where it must be: a benchmark counts system calls.
  void want(int file, std::uint32_t events) {
    const auto place = static_cast<std::size_t>(file);
    if (wanted_.size() <= place) wanted_.resize(place + 1, EPOLLIN);
    if (wanted_[place] == events) return;
    wanted_[place] = events;
    epoll_event event{.events = events, .data = {.fd = file}};
    epoll_ctl(poll_, EPOLL_CTL_MOD, file, &event);
  }

  void end(int file) {
    connections_[static_cast<std::size_t>(file)] = {};
    want(file, EPOLLIN);
    close(file);
    --open_;
  }

  server::DialogueMaker make_;
  int poll_;
  int listener_ = -1;
  int signal_ = -1;
  int clock_ = -1;
  bool drains_ = false;
  std::size_t open_ = 0;
  std::vector<Connection> connections_;  ///< by their files
  std::vector<std::uint32_t> wanted_;
  std::vector<char> buffer_ = std::vector<char>(read_bytes);
};

}  // namespace

void serve_dialogues(std::uint16_t port, const server::DialogueMaker& make) {
  Loop loop(make);
  loop.listen(port);
  loop.run();
}

}  // namespace weir::test
