#include "test/fault/fault_proxy.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <stdexcept>
#include <utility>

namespace weir::test {
namespace {

using std::chrono::nanoseconds;

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

pollfd asked(int socket, short events) { return {.fd = socket, .events = events, .revents = 0}; }

void wait_until(SteadyTime due_at, std::vector<pollfd>& polled) {
  if (due_at == SteadyTime::max()) {
    ::poll(polled.data(), polled.size(), -1);
    return;
  }
  const auto left =
      std::max(nanoseconds{0}, nanoseconds{due_at - std::chrono::steady_clock::now()});
  const timespec span{.tv_sec = left.count() / std::nano::den,
                      .tv_nsec = left.count() % std::nano::den};
  ::ppoll(polled.data(), polled.size(), &span, nullptr);
}

/// Each write is to travel alone.
void send_at_once(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOTCONN; }

}  // namespace

/// One connection, with the one behind it.
class FaultProxy::Link {
 public:
  struct Origin {
    std::uint64_t number;
    int client;  ///< its socket
    int server_port;
    std::uint64_t seed;
  };

  explicit Link(const Origin& origin)
      : number_(origin.number),
        client_(origin.client, origin.seed + 2 * origin.number),
        server_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
                origin.seed + 2 * origin.number + 1) {
    send_at_once(client_.socket);
    send_at_once(server_.socket);
    const sockaddr_in address = loopback(origin.server_port);
    if (::connect(server_.socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
            0 &&
        errno != EINPROGRESS) {
      reset();
    }
  }

  ~Link() {
    client_.close();
    server_.close();
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  void set(const ConnectionFaults& faults) {
    client_.way.set(faults.requests);
    server_.way.set(faults.replies);
  }

  std::uint64_t number() const { return number_; }
  bool ended() const { return client_.socket < 0; }
  bool was_reset() const { return was_reset_; }
  const WayStats& requests() const { return client_.way.stats(); }
  const WayStats& replies() const { return server_.way.stats(); }

  /// Both ends see RST.
  void reset() {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    for (Side* const side : {&client_, &server_}) {
      ::setsockopt(side->socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
      side->close();
    }
    was_reset_ = true;
  }

  std::array<pollfd, 2> interest(SteadyTime now) const {
    return {client_.interest(server_, now), server_.interest(client_, now)};
  }

  SteadyTime due_at() const { return std::min(client_.way.due_at(), server_.way.due_at()); }

  void work(const std::array<pollfd, 2>& polled, SteadyTime now) {
    if (ended()) return;
    if ((polled[0].revents | polled[1].revents) & POLLERR) return reset();
    read(client_, polled[0], now);
    read(server_, polled[1], now);
    pass_on(client_, server_.socket, now);
    pass_on(server_, client_.socket, now);
    if (client_.end_passed_on && server_.end_passed_on) {
      client_.close();
      server_.close();
    }
  }

 private:
  /// One of the two ends, and what it has sent.
  struct Side {
    Side(int its_socket, std::uint64_t seed) : socket(its_socket), way(seed) {}

    void close() {
      if (socket >= 0) ::close(socket);
      socket = -1;
    }

    pollfd interest(const Side& other, SteadyTime now) const {
      short events = 0;
      if (!finished && way.has_room()) events |= POLLIN;
      if (!other.way.due(now).empty()) events |= POLLOUT;
      // Who has finished, and is sent nothing, would be reported as gone again and again.
      return asked(events == 0 && finished ? -1 : socket, events);
    }

    int socket;
    FaultWay way;
    bool finished = false;       ///< it sends no more
    bool end_passed_on = false;  ///< and the other end knows
  };

  void read(Side& from, const pollfd& polled, SteadyTime now) {
    const bool readable = polled.revents & (POLLIN | POLLHUP);
    if (ended() || from.finished || !readable || !from.way.has_room()) return;
    char buffer[16384];
    const ssize_t received = ::recv(from.socket, buffer, sizeof buffer, 0);
    if (received > 0) return from.way.take({buffer, static_cast<std::size_t>(received)}, now);
    if (received < 0) return would_block() ? void() : reset();
    from.finished = true;
    from.way.finish();
  }

  void pass_on(Side& from, int to, SteadyTime now) {
    // Bounded, so that a link that splits into single bytes leaves the others their turn.
    for (int writes = 0; writes != 64 && !ended(); ++writes) {
      const std::string_view due = from.way.due(now);
      if (due.empty()) break;
      const ssize_t sent = ::send(to, due.data(), due.size(), MSG_NOSIGNAL);
      if (sent < 0) return would_block() ? void() : reset();
      from.way.wrote(static_cast<std::size_t>(sent), now);
    }
    if (ended() || from.end_passed_on) return;
    if (from.way.end() == FaultWay::End::reset) return reset();
    if (from.way.end() == FaultWay::End::close) {
      ::shutdown(to, SHUT_WR);
      from.end_passed_on = true;
    }
  }

  const std::uint64_t number_;
  Side client_;
  Side server_;
  bool was_reset_ = false;
};

FaultProxy::FaultProxy(int server_port, std::uint64_t seed)
    : seed_(seed),
      choose_([](std::uint64_t) { return ConnectionFaults{}; }),
      server_port_(server_port) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  bell_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_, generic, size) != 0 || ::listen(listener_, 128) != 0 ||
      ::getsockname(listener_, generic, &size) != 0) {
    throw std::runtime_error("no port of 127.0.0.1 is free for a proxy");
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { run(); });
}

FaultProxy::~FaultProxy() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake();
  thread_.join();
  ::close(listener_);
  ::close(bell_);
}

void FaultProxy::set(const ConnectionFaults& faults) {
  set([faults](std::uint64_t) { return faults; });
}

void FaultProxy::set(Choose choose) {
  const std::lock_guard lock(mutex_);
  choose_ = std::move(choose);
  for (const auto& link : links_) link->set(choose_(link->number()));
  wake();
}

void FaultProxy::reset_all() {
  const std::lock_guard lock(mutex_);
  for (const auto& link : links_) link->reset();
  wake();
}

void FaultProxy::forward_to(int server_port) {
  const std::lock_guard lock(mutex_);
  server_port_ = server_port;
}

FaultProxy::Stats FaultProxy::stats() const {
  const std::lock_guard lock(mutex_);
  Stats sum = of_ended_;
  for (const auto& link : links_) {
    sum.open += link->ended() ? 0 : 1;
    sum.requests += link->requests();
    sum.replies += link->replies();
  }
  return sum;
}

void FaultProxy::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(bell_, &one, sizeof one);
}

void FaultProxy::run() {
  std::unique_lock lock(mutex_);
  std::vector<pollfd> polled;
  while (!ending_) {
    const SteadyTime now = std::chrono::steady_clock::now();
    polled = {asked(listener_, POLLIN), asked(bell_, POLLIN)};
    SteadyTime due_at = SteadyTime::max();
    for (const auto& link : links_) {
      for (const pollfd& end : link->interest(now)) polled.push_back(end);
      // What is due already waits for its receiver alone.
      if (link->due_at() > now) due_at = std::min(due_at, link->due_at());
    }
    const std::size_t looked_at = links_.size();
    lock.unlock();
    wait_until(due_at, polled);
    lock.lock();
    std::uint64_t rung = 0;
    [[maybe_unused]] const ssize_t read = ::read(bell_, &rung, sizeof rung);
    for (std::size_t i = 0; i != looked_at; ++i) {
      links_[i]->work({polled[2 + 2 * i], polled[3 + 2 * i]}, std::chrono::steady_clock::now());
    }
    drop_ended();
    if (polled[0].revents & POLLIN) accept_one();
  }
}

void FaultProxy::drop_ended() {
  std::erase_if(links_, [this](const std::unique_ptr<Link>& link) {
    if (!link->ended()) return false;
    of_ended_.resets += link->was_reset() ? 1 : 0;
    of_ended_.requests += link->requests();
    of_ended_.replies += link->replies();
    return true;
  });
}

void FaultProxy::accept_one() {
  const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (client < 0) return;
  const std::uint64_t number = of_ended_.connections++;
  links_.push_back(std::make_unique<Link>(Link::Origin{
      .number = number, .client = client, .server_port = server_port_, .seed = seed_}));
  links_.back()->set(choose_(number));
  if (links_.size() > most_connections) links_.back()->reset();
}

}  // namespace weir::test
