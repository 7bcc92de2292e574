#include "bench/open_load.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <deque>
#include <system_error>

#include "test/server/load/question.hpp"
#include "test/server/load/resp_load.hpp"

namespace weir::bench {
namespace {

using load::LoadFailed;
using Clock = std::chrono::steady_clock;

class Resp : public Protocol {
 public:
  std::string name() const override { return "RESP"; }
  std::string listener() const override { return "resp"; }
  void ask(std::string& output, std::uint32_t) const override { question_.append(output, "alice"); }
  Taken take(std::string_view bytes, std::string&) const override {
    const load::ReadAnswer read = load::read_answer(bytes, load::AnswerForm::throttle);
    if (read.reading == load::Reading::incomplete) return {};
    if (read.reading == load::Reading::refused) throw LoadFailed("no answer: " + read.complaint);
    if (!read.answer.admitted) throw LoadFailed("RESP: a refusal");
    return {read.consumed, 1};
  }

 private:
  load::EncodedQuestion question_{
      load::throttle({.max_burst = 1'000'000, .count = 1'000'000, .period_s = 1})};
};

class Http : public Protocol {
 public:
  std::string name() const override { return "HTTP"; }
  std::string listener() const override { return "http"; }
  void ask(std::string& output, std::uint32_t) const override {
    output +=
        "GET /v1/forward HTTP/1.1\r\nHost: weir\r\nX-Forwarded-For: 203.0.113.77\r\n"
        "X-Forwarded-Method: GET\r\nX-Forwarded-Host: shop.example\r\n"
        "X-Forwarded-Uri: /v1/orders/1234\r\n\r\n";
  }
  Taken take(std::string_view bytes, std::string&) const override {
    const std::size_t end = bytes.find("\r\n\r\n");
    if (end == std::string_view::npos) return {};
    // Who is granted has an answer without a body.
    if (!bytes.starts_with("HTTP/1.1 200 ")) throw LoadFailed("HTTP: a refusal");
    return {end + 4, 1};
  }
};

/// HTTP/2 as far as one unary method needs it: every head is the same, and names no table.
class Grpc : public Protocol {
 public:
  std::string name() const override { return "gRPC"; }
  std::string listener() const override { return "grpc"; }

  std::string greeting() const override {
    std::string bytes = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    append_frame(bytes, {.type = settings}, {});
    append_frame(bytes, {.type = window_update}, {"\x7f\xff\x00\x00", 4});
    return bytes;
  }

  void ask(std::string& output, std::uint32_t number) const override {
    // RateLimitRequest{domain "default", descriptors{entries{"remote_address", "203.0.113.77"}}}
    static const std::string message = std::string("\0\0\0\0\x2b", 5) + "\x0a\x07" + "default" +
                                       "\x12\x20\x0a\x1e\x0a\x0e" + "remote_address" + "\x12\x0c" +
                                       "203.0.113.77";
    const std::uint32_t stream = 2 * number + 1;
    append_frame(output, {.type = headers, .flags = end_headers, .stream = stream}, head());
    append_frame(output, {.type = data, .flags = end_stream, .stream = stream}, message);
  }

  Taken take(std::string_view bytes, std::string& output) const override {
    if (bytes.size() < 9) return {};
    const std::size_t size = 9 + number_in(bytes.substr(0, 3));
    if (bytes.size() < size) return {};
    const int type = static_cast<unsigned char>(bytes[3]);
    const int flags = static_cast<unsigned char>(bytes[4]);
    const std::string_view payload = bytes.substr(9, size - 9);
    switch (type) {
      case data:
        // A message's head, and RateLimitResponse{overall_code OK}.
        if (payload.substr(5, 2) != "\x08\x01") throw LoadFailed("gRPC: a refusal");
        break;
      case headers: return {size, (flags & end_stream) != 0 ? std::size_t{1} : 0};
      case settings:
      case ping:
        if ((flags & ack) == 0) {
          append_frame(output, {.type = type, .flags = ack},
                       type == ping ? payload : std::string_view{});
        }
        break;
      case window_update: break;
      default: throw LoadFailed("gRPC: a frame of type " + std::to_string(type));
    }
    return {size, 0};
  }

  static void append_abandoned(std::string& to, std::uint32_t number) {
    const std::uint32_t stream = 2 * number + 1;
    append_frame(to, {.type = headers, .flags = end_headers, .stream = stream}, head());
    append_frame(to, {.type = rst_stream, .stream = stream}, {"\0\0\0\x08", 4});
  }

 private:
  enum Type { data = 0, headers = 1, rst_stream = 3, settings = 4, ping = 6, window_update = 8 };
  enum Flag { ack = 1, end_stream = 1, end_headers = 4 };
  static constexpr std::string_view path =
      "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

  struct Frame {
    int type;
    int flags = 0;
    std::uint32_t stream = 0;
  };

  static void append_frame(std::string& to, const Frame& frame, std::string_view payload) {
    const auto size = static_cast<std::uint32_t>(payload.size());
    for (const int shift : {16, 8, 0}) to += static_cast<char>(size >> shift);
    to += static_cast<char>(frame.type);
    to += static_cast<char>(frame.flags);
    for (const int shift : {24, 16, 8, 0}) to += static_cast<char>(frame.stream >> shift);
    to += payload;
  }

  /// :method POST, :scheme http; then literal fields with names of the static table, or their own.
  static const std::string& head() {
    static const std::string fields = std::string("\x83\x86") + field(4, path) + field(1, "weir") +
                                      field(31, "application/grpc") + std::string("\0\2te", 4) +
                                      "\x08trailers";
    return fields;
  }

  /// A name's index has four bits, and another byte where that is not enough.
  static std::string field(int name, std::string_view value) {
    std::string bytes;
    bytes += static_cast<char>(name < 15 ? name : 15);
    if (name >= 15) bytes += static_cast<char>(name - 15);
    bytes += static_cast<char>(value.size());
    return bytes.append(value);
  }

  static std::size_t number_in(std::string_view bytes) {
    std::size_t number = 0;
    for (const char byte : bytes) number = number << 8 | static_cast<unsigned char>(byte);
    return number;
  }
};

/// Closed when the run ends.
struct Connection {
  explicit Connection(std::uint16_t port) : file(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    const int on = 1;
    if (file < 0 ||
        connect(file, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
        setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0 ||
        fcntl(file, F_SETFL, O_NONBLOCK) != 0) {
      throw failure("connect");
    }
  }
  ~Connection() { close(file); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  static LoadFailed failure(const char* call) {
    return LoadFailed(std::string(call) + ": " + std::generic_category().message(errno));
  }

  int file;
  std::string output{};
  std::string input{};
  std::uint32_t asked = 0;
  std::deque<Clock::time_point> due{};        ///< of questions that were not sent yet
  std::deque<Clock::time_point> in_flight{};  ///< when those were due that are not answered
};

class Run {
 public:
  Run(const Protocol& protocol, const OpenLoad& load) : protocol_(protocol), load_(load) {
    for (std::uint32_t i = 0; i < load.connections; ++i) {
      Connection& connection = connections_.emplace_back(load.port);
      connection.output = protocol.greeting();
      epoll_event event{.events = EPOLLIN, .data = {.ptr = &connection}};
      if (epoll_ctl(poll_, EPOLL_CTL_ADD, connection.file, &event) != 0) {
        throw Connection::failure("epoll_ctl");
      }
    }
  }
  ~Run() { close(poll_); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  Lateness result() {
    const Clock::time_point began = Clock::now();
    end_ = began + load_.lasts;
    Clock::time_point next = began;
    std::size_t turn = 0;
    if (load_.every.count() == 0) {
      for (Connection& connection : connections_) put(connection, began);
      next = end_;
    }
    std::array<epoll_event, 64> events{};
    while (next < end_ || unanswered_ > 0) {
      const Clock::time_point now = Clock::now();
      for (; next < end_ && next <= now; next += load_.every) {
        put(connections_[turn++ % connections_.size()], next);
      }
      const int count = epoll_wait(poll_, events.data(), events.size(), 0);
      if (count < 0 && errno != EINTR) throw Connection::failure("epoll_wait");
      for (int i = 0; i < count; ++i) {
        read_answers(*static_cast<Connection*>(events[static_cast<std::size_t>(i)].data.ptr));
      }
      if (now > end_ + std::chrono::seconds(10)) {
        throw LoadFailed(std::to_string(unanswered_) + " answers are missing");
      }
    }
    return std::move(lateness_);
  }

 private:
  /// So many calls an HTTP/2 client may have; others are asked alike.
  static constexpr std::size_t most_in_flight = 64;

  void put(Connection& connection, Clock::time_point due) {
    connection.due.push_back(due);
    ++unanswered_;
    ask(connection);
  }

  void ask(Connection& connection) {
    while (!connection.due.empty() && connection.in_flight.size() < most_in_flight) {
      protocol_.ask(connection.output, connection.asked++);
      lateness_.asked.push_back(Clock::now() - connection.due.front());
      connection.in_flight.push_back(connection.due.front());
      connection.due.pop_front();
    }
    // What finds no room goes with the next question, or behind the next answer.
    const ssize_t sent = send(connection.file, connection.output.data(), connection.output.size(),
                              MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) throw Connection::failure("send");
    if (sent > 0) connection.output.erase(0, static_cast<std::size_t>(sent));
  }

  void read_answers(Connection& connection) {
    const ssize_t size = recv(connection.file, buffer_.data(), buffer_.size(), 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size <= 0) throw LoadFailed("the server closed a connection");
    const Clock::time_point now = Clock::now();
    connection.input.append(buffer_.data(), static_cast<std::size_t>(size));
    std::string_view rest = connection.input;
    for (;;) {
      const Protocol::Taken taken = protocol_.take(rest, connection.output);
      if (taken.bytes == 0) break;
      rest.remove_prefix(taken.bytes);
      for (std::size_t i = 0; i < taken.answers; ++i) note(connection, now);
    }
    connection.input.erase(0, connection.input.size() - rest.size());
    if (!connection.due.empty() || !connection.output.empty()) ask(connection);
  }

  /// A server here answers in the order in which it was asked, also where it need not.
  void note(Connection& connection, Clock::time_point now) {
    if (connection.in_flight.empty()) throw LoadFailed("an answer that nobody asked for");
    lateness_.answered.push_back(now - connection.in_flight.front());
    connection.in_flight.pop_front();
    --unanswered_;
    if (load_.every.count() == 0 && now < end_) put(connection, now);
  }

  const Protocol& protocol_;
  const OpenLoad& load_;
  int poll_ = epoll_create1(EPOLL_CLOEXEC);
  std::deque<Connection> connections_{};
  Clock::time_point end_{};
  std::size_t unanswered_ = 0;
  std::array<char, 65'536> buffer_{};
  Lateness lateness_{};
};

}  // namespace

std::vector<const Protocol*> protocols() {
  static const Resp resp;
  static const Http http;
  static const Grpc grpc;
  return {&resp, &http, &grpc};
}

std::string abandoned_calls(std::uint32_t count) {
  std::string bytes = Grpc().greeting();
  for (std::uint32_t number = 0; number < count; ++number) Grpc::append_abandoned(bytes, number);
  return bytes;
}

Lateness run(const Protocol& protocol, const OpenLoad& load) {
  return Run(protocol, load).result();
}

}  // namespace weir::bench
