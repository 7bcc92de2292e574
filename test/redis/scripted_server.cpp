#include "test/redis/scripted_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>
#include <string_view>
#include <utility>

#include "wire/resp_request.hpp"

namespace weir::test {
namespace {

/// One client of it.
struct Guest {
  int socket;
  std::string input;
};

void send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

/// False where the guest is to leave.
bool serve(Guest& guest, const ScriptedServer::Script& script) {
  char room[4096];
  const ssize_t received = ::recv(guest.socket, room, sizeof room, 0);
  if (received <= 0) return false;
  guest.input.append(room, static_cast<std::size_t>(received));
  wire::RequestParser parser;
  wire::Arguments words;
  while (true) {
    const wire::ParsedRequest parsed = parser.parse(guest.input, words);
    if (parsed.status != wire::RequestStatus::complete) {
      return parsed.status == wire::RequestStatus::incomplete;
    }
    const auto said = script({words.begin(), words.end()});
    guest.input.erase(0, parsed.consumed);
    send_all(guest.socket, said.bytes);
    if (said.then == ScriptedServer::Said::Then::close) return false;
  }
}

}  // namespace

ScriptedServer::ScriptedServer(Script script) : script_(std::move(script)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_, generic, size) != 0 || ::listen(listener_, 64) != 0 ||
      ::getsockname(listener_, generic, &size) != 0 || ::pipe(wake_) != 0) {
    throw std::runtime_error("no port of 127.0.0.1 is free");
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { run(); });
}

ScriptedServer::~ScriptedServer() {
  ::close(wake_[1]);
  thread_.join();
  ::close(wake_[0]);
  ::close(listener_);
}

void ScriptedServer::run() {
  std::vector<Guest> guests;
  while (true) {
    std::vector<pollfd> polled{{wake_[0], POLLIN, 0}, {listener_, POLLIN, 0}};
    for (const Guest& guest : guests) polled.push_back({guest.socket, POLLIN, 0});
    ::poll(polled.data(), polled.size(), -1);
    if (polled[0].revents != 0) break;
    for (std::size_t i = guests.size(); i-- > 0;) {
      if (polled[i + 2].revents == 0 || serve(guests[i], script_)) continue;
      ::close(guests[i].socket);
      guests.erase(guests.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (polled[1].revents != 0) {
      const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      const int on = 1;
      ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      guests.push_back({socket, ""});
      ++accepted_;
    }
  }
  for (const Guest& guest : guests) ::close(guest.socket);
}

std::string greet(const ScriptedServer::Words& command) {
  if (command[0] == "HELLO") return "-ERR unknown command 'HELLO'\r\n";
  if (command[0] == "CLIENT" || command[0] == "AUTH" || command[0] == "SELECT") return "+OK\r\n";
  if (command[0] == "INFO") return bulk("redis_version:5.0.0\r\nredis_mode:standalone\r\n");
  return "";
}

std::string bulk(const std::string& text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

}  // namespace weir::test
