// The floor under every RESP limiter: it reads commands, counts them, and answers each with the
// same bytes. That cost is the kernel's share of a request; nothing that decides can cost less.
//
//   constant_server 127.0.0.1:PORT      port 0: any; prints `resp 127.0.0.1:PORT` when it listens
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::string_view answer = "*5\r\n:0\r\n:16\r\n:15\r\n:-1\r\n:2\r\n";
constexpr std::size_t answers_at_once = 4'096;
constexpr std::int64_t longest_frame = 65'536;

struct Frame {
  enum class Reading { complete, incomplete, malformed } reading;
  std::size_t size;
};

/// Steps over frames by the lengths that they state, and looks at nothing else.
class FrameReader {
 public:
  explicit FrameReader(std::string_view bytes) : bytes_(bytes) {}

  Frame next() {
    at_ = 0;
    auto count = header('*');
    if (!count) return stopped();
    for (; *count > 0; --*count) {
      const auto length = header('$');
      if (!length) return stopped();
      at_ += static_cast<std::size_t>(*length) + 2;
    }
    if (at_ > bytes_.size()) return {Frame::Reading::incomplete, 0};
    const Frame frame{Frame::Reading::complete, at_};
    bytes_.remove_prefix(at_);
    return frame;
  }

 private:
  /// The number in a line `<kind>NUMBER\r\n`, and the position behind it.
  std::optional<std::int64_t> header(char kind) {
    if (at_ >= bytes_.size()) return std::nullopt;
    malformed_ = bytes_[at_] != kind;
    std::int64_t number = 0;
    for (std::size_t at = at_ + 1; at < bytes_.size() && !malformed_; ++at) {
      const char byte = bytes_[at];
      if (byte == '\r') {
        at_ = at + 2;
        return number;
      }
      number = number * 10 + (byte - '0');
      malformed_ = byte < '0' || byte > '9' || number > longest_frame;
    }
    return std::nullopt;
  }

  Frame stopped() const {
    return {malformed_ ? Frame::Reading::malformed : Frame::Reading::incomplete, 0};
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  bool malformed_ = false;
};

struct Connection {
  std::string unread{};        ///< the beginning of a frame
  std::size_t owed_bytes = 0;  ///< of answers that the socket did not take
  bool waits = false;          ///< for the socket to take more
};

class ConstantServer {
 public:
  explicit ConstantServer(int listener) : listener_(listener), poll_(epoll_create1(EPOLL_CLOEXEC)) {
    for (std::size_t i = 0; i < answers_at_once; ++i) answers_ += answer;
    watch(listener_, {.operation = EPOLL_CTL_ADD, .events = EPOLLIN});
  }

  [[noreturn]] void run() {
    std::array<epoll_event, 256> events{};
    for (;;) {
      const int count = epoll_wait(poll_, events.data(), events.size(), -1);
      for (int i = 0; i < count; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        if (event.data.fd == listener_) {
          accept_one();
        } else if ((event.events & EPOLLOUT) != 0) {
          pay(event.data.fd);
        } else {
          serve(event.data.fd);
        }
      }
    }
  }

 private:
  struct Watch {
    int operation;
    std::uint32_t events;
  };

  void watch(int socket_file, const Watch& wanted) const {
    epoll_event event{.events = wanted.events, .data = {.fd = socket_file}};
    epoll_ctl(poll_, wanted.operation, socket_file, &event);
  }

  void accept_one() {
    const int accepted = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (accepted < 0) return;
    const int on = 1;
    setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    const auto place = static_cast<std::size_t>(accepted);
    if (connections_.size() <= place) connections_.resize(place + 1);
    connections_[place] = {};
    watch(accepted, {.operation = EPOLL_CTL_ADD, .events = EPOLLIN});
  }

  void serve(int socket_file) {
    const ssize_t size = read(socket_file, buffer_.data(), buffer_.size());
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size <= 0) {
      close(socket_file);
      return;
    }
    Connection& connection = connections_[static_cast<std::size_t>(socket_file)];
    std::string_view bytes(buffer_.data(), static_cast<std::size_t>(size));
    if (!connection.unread.empty()) bytes = connection.unread.append(bytes);

    FrameReader reader(bytes);
    std::size_t consumed = 0;
    Frame frame = reader.next();
    for (; frame.reading == Frame::Reading::complete; frame = reader.next()) {
      consumed += frame.size;
      connection.owed_bytes += answer.size();
    }
    const std::size_t left = bytes.size() - consumed;
    if (frame.reading == Frame::Reading::malformed || left > longest_frame) {
      close(socket_file);
      return;
    }
    if (connection.unread.empty()) {
      connection.unread = bytes.substr(consumed);
    } else {
      connection.unread.erase(0, consumed);
    }
    if (connection.owed_bytes > 0) pay(socket_file);
  }

  void pay(int socket_file) {
    Connection& connection = connections_[static_cast<std::size_t>(socket_file)];
    while (connection.owed_bytes > 0) {
      // All answers are alike, so what is still owed says where in an answer the last write ended.
      const std::size_t begun =
          (answer.size() - connection.owed_bytes % answer.size()) % answer.size();
      const std::size_t size = std::min(connection.owed_bytes, answers_.size() - begun);
      const ssize_t written = write(socket_file, answers_.data() + begun, size);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0 && errno == EAGAIN) {
        watch(socket_file, {.operation = EPOLL_CTL_MOD, .events = EPOLLOUT});
        connection.waits = true;
        return;
      }
      if (written < 0) {
        close(socket_file);
        return;
      }
      connection.owed_bytes -= static_cast<std::size_t>(written);
    }
    if (!connection.waits) return;
    connection.waits = false;
    watch(socket_file, {.operation = EPOLL_CTL_MOD, .events = EPOLLIN});
  }

  int listener_;
  int poll_;
  std::string answers_;
  std::vector<Connection> connections_;  ///< by descriptor
  std::array<char, 65'536> buffer_{};
};

int listen_on(std::uint16_t port) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  socklen_t size = sizeof(address);
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  if (listener < 0 || bind(listener, raw, size) != 0 || listen(listener, 1'024) != 0 ||
      getsockname(listener, raw, &size) != 0) {
    std::perror("cannot listen");
    return -1;
  }
  std::printf("resp 127.0.0.1:%d\n", ntohs(address.sin_port));
  std::fflush(stdout);
  return listener;
}

}  // namespace

int main(int count, char** arguments) {
  constexpr std::string_view host = "127.0.0.1:";
  const std::string_view address = count == 2 ? arguments[1] : "";
  std::uint16_t port = 0;
  const char* end = address.data() + address.size();
  if (!address.starts_with(host) ||
      std::from_chars(address.data() + host.size(), end, port).ptr != end) {
    std::fprintf(stderr, "usage: constant_server 127.0.0.1:PORT\n");
    return 2;
  }
  const int listener = listen_on(port);
  if (listener < 0) return 1;
  ConstantServer(listener).run();
}
