#include "test/wire/redis_server.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace weir::wire {
namespace {

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int free_port() {
  const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  const bool found = ::bind(probe, generic, size) == 0 && ::getsockname(probe, generic, &size) == 0;
  ::close(probe);
  if (!found) throw std::runtime_error("no port of 127.0.0.1 is free");
  return ntohs(address.sin_port);
}

[[noreturn]] void become_redis(std::vector<std::string> arguments,
                               std::vector<std::string> environment) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // A test that crashes leaves no server behind.
  for (std::string& variable : environment) ::putenv(variable.data());
  std::vector<char*> words;
  words.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  ::execvp("redis-server", words.data());
  ::_exit(127);
}

/// Reads a log until it says so, or ends.
bool becomes_ready(int log) {
  std::string said;
  char buffer[1024];
  while (said.find("Ready to accept connections") == std::string::npos) {
    const ssize_t received = ::read(log, buffer, sizeof buffer);
    if (received <= 0) return false;
    said.append(buffer, static_cast<std::size_t>(received));
  }
  return true;
}

}  // namespace

RedisServer::RedisServer(Extras extras) : extras_(std::move(extras)) {
  std::string pattern = (std::filesystem::temp_directory_path() / "weir-redis-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = pattern;
  // The port found free may be somebody else's by the time that the server asks for it.
  for (int attempt = 0; attempt != 3; ++attempt) {
    if (start()) return;
    stop();
  }
  throw std::runtime_error("redis-server does not start; is it installed?");
}

RedisServer::~RedisServer() {
  stop();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

bool RedisServer::start() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  port_ = free_port();
  // By itself it takes port + 10000, which there may not be.
  bus_port_ = free_port();
  std::vector<std::string> arguments{"redis-server",
                                     "--port",
                                     std::to_string(port_),
                                     "--cluster-port",
                                     std::to_string(bus_port_),
                                     "--bind",
                                     "127.0.0.1",
                                     "--dir",
                                     folder_,
                                     "--save",
                                     "",
                                     "--enable-debug-command",
                                     "local"};
  arguments.insert(arguments.end(), extras_.arguments.begin(), extras_.arguments.end());
  process_ = ::fork();
  if (process_ == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    become_redis(std::move(arguments), extras_.environment);
  }
  ::close(ends[1]);
  output_ = ends[0];
  return process_ > 0 && becomes_ready(output_);
}

void RedisServer::stop() {
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  ::close(output_);
}

Connection::Connection(int port) {
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience{.tv_sec = 2, .tv_usec = 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const sockaddr_in address = loopback(port);
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return;
  ::close(socket_);
  throw std::runtime_error("redis-server takes no connection");
}

Connection::~Connection() { ::close(socket_); }

void Connection::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;  // The peer has closed; what it said is still to be heard.
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void Connection::finish() { ::shutdown(socket_, SHUT_WR); }

Heard Connection::hear() {
  char buffer[4096];
  const ssize_t received = ::recv(socket_, buffer, sizeof buffer, 0);
  if (received > 0) return {.bytes = std::string(buffer, static_cast<std::size_t>(received))};
  const bool silent = received < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  return {.bytes = "", .closed = !silent};
}

Heard Connection::hear_all() {
  Heard all;
  while (true) {
    const Heard next = hear();
    all.bytes += next.bytes;
    all.closed = next.closed;
    if (next.bytes.empty()) return all;
  }
}

}  // namespace weir::wire
