#include "test/server/load/resp_load.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <exception>
#include <latch>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace weir::load {
namespace {

using Clock = std::chrono::steady_clock;

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
      .count();
}

LoadFailed failure(const char* call) {
  return LoadFailed(std::string(call) + ": " + std::generic_category().message(errno));
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  int number() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

Descriptor connected_to(std::uint16_t port) {
  Descriptor socket_file(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket_file.number() < 0) throw failure("socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  const auto* raw = reinterpret_cast<const sockaddr*>(&address);
  if (connect(socket_file.number(), raw, sizeof(address)) != 0) throw failure("connect");
  const int on = 1;
  setsockopt(socket_file.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return socket_file;
}

struct Connection {
  Descriptor socket_file;
  std::uint32_t client;
  std::string outgoing{};
  std::size_t written = 0;
  bool awaits_room = false;
  std::string unread{};                ///< the beginning of an answer whose end has not come
  std::vector<std::uint64_t> asked{};  ///< the keys of the batch
  std::size_t answered = 0;
  std::int64_t called_at_ns = 0;
};

/// One thread's connections and its share of the requests.
class Worker {
 public:
  struct Share {
    std::uint32_t number;  ///< of the thread
    std::int64_t requests;
    std::uint32_t first_client;
    std::uint32_t connections;
  };

  Worker(const Load& load, const Share& share)
      : load_(load),
        question_(load.question),
        chooser_(load.keys, {load.seed * 1'000'003 + share.number}),
        unasked_(share.requests),
        unanswered_(share.requests),
        poll_(epoll_create1(EPOLL_CLOEXEC)) {
    if (poll_.number() < 0) throw failure("epoll_create1");
    for (std::uint32_t i = 0; i < share.connections; ++i) {
      connections_.push_back(
          {.socket_file = connected_to(load.port), .client = share.first_client + i});
      epoll_event event{.events = EPOLLIN, .data = {.ptr = &connections_.back()}};
      const int socket_file = connections_.back().socket_file.number();
      if (epoll_ctl(poll_.number(), EPOLL_CTL_ADD, socket_file, &event) != 0) {
        throw failure("epoll_ctl");
      }
    }
    if (load.keep == Load::Keep::history) {
      outcome_.history.reserve(static_cast<std::size_t>(share.requests));
    }
  }

  void work() {
    started_at_ = Clock::now();
    const auto deadline = started_at_ + load_.finish_within;
    for (Connection& connection : connections_) ask_next_batch(connection);
    std::array<epoll_event, 64> events{};
    while (unanswered_ > 0) {
      const int count = epoll_wait(poll_.number(), events.data(), events.size(), 100);
      if (count < 0 && errno != EINTR) throw failure("epoll_wait");
      for (int i = 0; i < count; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        Connection& connection = *static_cast<Connection*>(event.data.ptr);
        if ((event.events & EPOLLOUT) != 0) write_rest(connection);
        if ((event.events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) read_answers(connection);
      }
      if (Clock::now() > deadline) {
        throw LoadFailed("time is up, and " + std::to_string(unanswered_) + " answers are missing");
      }
    }
    ended_at_ = Clock::now();
  }

  Outcome& outcome() { return outcome_; }
  Clock::time_point started_at() const { return started_at_; }
  Clock::time_point ended_at() const { return ended_at_; }

 private:
  void ask_next_batch(Connection& connection) {
    const auto size = std::min<std::int64_t>(load_.pipeline, unasked_);
    unasked_ -= size;
    connection.outgoing.clear();
    connection.written = 0;
    connection.asked.clear();
    connection.answered = 0;
    if (size == 0) return;
    for (std::int64_t i = 0; i < size; ++i) {
      const std::uint64_t key = chooser_.next();
      connection.asked.push_back(key);
      key_text_.resize(load_.key_prefix.size());
      key_text_ += std::to_string(key);
      question_.append(connection.outgoing, key_text_);
    }
    connection.called_at_ns = now_ns();
    write_rest(connection);
  }

  void write_rest(Connection& connection) {
    while (connection.written < connection.outgoing.size()) {
      const ssize_t size =
          send(connection.socket_file.number(), connection.outgoing.data() + connection.written,
               connection.outgoing.size() - connection.written, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (size < 0 && errno == EINTR) continue;
      if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        await(connection, EPOLLIN | EPOLLOUT);
        connection.awaits_room = true;
        return;
      }
      if (size < 0) throw failure("send");
      connection.written += static_cast<std::size_t>(size);
    }
    if (std::exchange(connection.awaits_room, false)) await(connection, EPOLLIN);
  }

  void await(Connection& connection, std::uint32_t what) {
    epoll_event event{.events = what, .data = {.ptr = &connection}};
    if (epoll_ctl(poll_.number(), EPOLL_CTL_MOD, connection.socket_file.number(), &event) != 0) {
      throw failure("epoll_ctl");
    }
  }

  void read_answers(Connection& connection) {
    const ssize_t size =
        recv(connection.socket_file.number(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
    if (size < 0) throw failure("recv");
    if (size == 0) throw LoadFailed("the server closed a connection");
    const std::int64_t returned_at_ns = now_ns();

    std::string_view bytes(buffer_.data(), static_cast<std::size_t>(size));
    if (!connection.unread.empty()) bytes = connection.unread.append(bytes);
    while (!bytes.empty()) {
      const ReadAnswer read = read_answer(bytes, load_.question.form);
      if (read.reading == Reading::incomplete) break;
      if (read.reading == Reading::refused) throw LoadFailed("not an answer: " + read.complaint);
      if (connection.answered == connection.asked.size()) {
        throw LoadFailed("an answer that nobody asked for");
      }
      bytes.remove_prefix(read.consumed);
      note(connection, read.answer, returned_at_ns);
    }
    connection.unread = std::string(bytes);
    if (connection.answered == connection.asked.size()) ask_next_batch(connection);
  }

  void note(Connection& connection, const Answer& answer, std::int64_t returned_at_ns) {
    const std::uint64_t key = connection.asked[connection.answered++];
    --unanswered_;
    ++outcome_.answered;
    if (answer.admitted) ++outcome_.admitted;
    if (const auto why = absurdity(answer, load_.question.form)) {
      if (outcome_.absurd++ == 0) outcome_.first_absurdity = *why;
    }
    if (load_.keep == Load::Keep::counts) return;
    outcome_.history.push_back({.client = connection.client,
                                .key = key,
                                .cost = 1,
                                .called_at_ns = connection.called_at_ns,
                                .returned_at_ns = returned_at_ns,
                                .admitted = answer.admitted});
  }

  const Load& load_;
  EncodedQuestion question_;
  KeyChooser chooser_;
  std::string key_text_ = load_.key_prefix;
  std::int64_t unasked_;
  std::int64_t unanswered_;
  Descriptor poll_;
  std::deque<Connection> connections_;  ///< epoll holds their addresses
  std::array<char, 65'536> buffer_{};
  Clock::time_point started_at_{};
  Clock::time_point ended_at_{};
  Outcome outcome_;
};

/// Thread `number`'s part of `whole`, parts as equal as they can be and the first ones larger.
template <typename Integer>
Integer part_of(Integer whole, const Load& load, std::uint32_t number) {
  const auto threads = static_cast<Integer>(load.threads);
  return whole / threads + (static_cast<Integer>(number) < whole % threads ? 1 : 0);
}

void add(Outcome& sum, Outcome& part) {
  sum.history.insert(sum.history.end(), part.history.begin(), part.history.end());
  sum.answered += part.answered;
  sum.admitted += part.admitted;
  if (sum.absurd == 0) sum.first_absurdity = part.first_absurdity;
  sum.absurd += part.absurd;
  part.history = {};
}

}  // namespace

Outcome run(const Load& load) {
  // Every connection stands before anybody writes: who comes late would find an emptier server.
  std::deque<Worker> workers;
  std::uint32_t first_client = 0;
  for (std::uint32_t number = 0; number < load.threads; ++number) {
    const std::uint32_t connections = part_of(load.connections, load, number);
    workers.emplace_back(load, Worker::Share{.number = number,
                                             .requests = part_of(load.requests, load, number),
                                             .first_client = first_client,
                                             .connections = connections});
    first_client += connections;
  }

  std::latch start(static_cast<std::ptrdiff_t>(load.threads) + 1);
  std::mutex failed_mutex;
  std::exception_ptr failed;
  std::vector<std::thread> threads;
  for (Worker& worker : workers) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      try {
        worker.work();
      } catch (...) {
        const std::lock_guard lock(failed_mutex);
        if (!failed) failed = std::current_exception();
      }
    });
  }
  start.arrive_and_wait();
  for (std::thread& thread : threads) thread.join();
  if (failed) std::rethrow_exception(failed);

  Outcome outcome;
  Clock::time_point first_start = workers.front().started_at();
  Clock::time_point last_end = workers.front().ended_at();
  for (Worker& worker : workers) {
    add(outcome, worker.outcome());
    first_start = std::min(first_start, worker.started_at());
    last_end = std::max(last_end, worker.ended_at());
  }
  outcome.took = last_end - first_start;
  return outcome;
}

Conversation::Conversation(std::uint16_t port) : socket_(connected_to(port).release()) {
  const timeval patience{.tv_sec = 10, .tv_usec = 0};
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
}

Conversation::~Conversation() { close(socket_); }

Answer Conversation::ask(const Question& question, const std::string& key) {
  std::string bytes;
  EncodedQuestion(question).append(bytes, key);
  write_all(bytes);
  for (;;) {
    const ReadAnswer read = read_answer(unread_, question.form);
    if (read.reading == Reading::refused) throw LoadFailed("not an answer: " + read.complaint);
    if (read.reading == Reading::complete) {
      unread_.erase(0, read.consumed);
      return read.answer;
    }
    read_some();
  }
}

std::string Conversation::ask_for_text(const std::vector<std::string>& command) {
  std::string bytes = '*' + std::to_string(command.size()) + "\r\n";
  for (const std::string& argument : command) {
    bytes += '$' + std::to_string(argument.size()) + "\r\n" + argument + "\r\n";
  }
  write_all(bytes);
  std::size_t end = 0;
  const auto next_line = [&] {
    const std::size_t begin = end;
    while ((end = unread_.find("\r\n", begin)) == std::string::npos) read_some();
    end += 2;
    return unread_.substr(begin, end - begin - 2);
  };
  std::string text = next_line();
  if (text.starts_with('-')) throw LoadFailed("error reply: " + text);
  text = text.starts_with('$') ? next_line() : text.substr(1);
  unread_.erase(0, end);
  return text;
}

void Conversation::write_all(const std::string& bytes) {
  for (std::size_t written = 0; written < bytes.size();) {
    const ssize_t size =
        send(socket_, bytes.data() + written, bytes.size() - written, MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) throw failure("send");
    written += static_cast<std::size_t>(size);
  }
}

void Conversation::read_some() {
  std::array<char, 4096> buffer{};
  ssize_t size = 0;
  do {
    size = recv(socket_, buffer.data(), buffer.size(), 0);
  } while (size < 0 && errno == EINTR);
  if (size < 0) throw failure("recv");
  if (size == 0) throw LoadFailed("the server closed the connection");
  unread_.append(buffer.data(), static_cast<std::size_t>(size));
}

}  // namespace weir::load
