#include "test/wire/redis_server.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <thread>
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

/// Of PATH, unless the environment names another: an older Redis, or Valkey.
std::string program() {
  const char* const named = std::getenv("WEIR_TEST_REDIS");
  return named ? named : "redis-server";
}

/// Whether the server has what came with Redis 7.0; an older one ends at options it does not know.
bool is_of_7() {
  static const bool known = [] {
    // As in "Redis server v=7.0.15 sha=...".
    FILE* const said = ::popen((program() + " --version").c_str(), "r");
    int major = 0;
    const bool read = said && std::fscanf(said, "%*[^=]=%d", &major) == 1;
    if (said) ::pclose(said);
    return !read || major >= 7;
  }();
  return known;
}

/// Leaves out options of 7.0, each with its value.
std::vector<std::string> before_7(const std::vector<std::string>& arguments) {
  std::vector<std::string> left;
  for (auto word = arguments.begin(); word != arguments.end(); ++word) {
    if (*word == "--cluster-port" || *word == "--enable-debug-command" ||
        *word == "--enable-module-command") {
      ++word;
    } else {
      left.push_back(*word);
    }
  }
  return left;
}

[[noreturn]] void become_redis(std::vector<std::string> arguments,
                               std::vector<std::string> environment) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // A test that crashes leaves no server behind.
  for (std::string& variable : environment) ::putenv(variable.data());
  std::vector<char*> words;
  words.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  ::execvp(words.front(), words.data());
  ::_exit(127);
}

}  // namespace

RedisServer::RedisServer(Extras extras) : extras_(std::move(extras)) {
  std::string pattern = (std::filesystem::temp_directory_path() / "weir-redis-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = pattern;
  if (!extras_.config.empty()) std::ofstream(folder_ + "/redis.conf") << extras_.config;
  // The port found free may be somebody else's by the time that the server asks for it.
  for (int attempt = 0; attempt != 3; ++attempt) {
    port_ = free_port();
    // By itself it takes port + 10000, which there may not be.
    bus_port_ = free_port();
    if (start()) return;
  }
  const std::string tail = log_tail();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
  throw std::runtime_error("redis-server does not start; is it installed? It said:\n" + tail);
}

RedisServer::~RedisServer() {
  kill();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void RedisServer::restart() {
  kill();
  if (!start()) throw std::runtime_error("redis-server does not start again:\n" + log_tail());
}

bool RedisServer::start() {
  const std::size_t said_before = log().size();
  spawn();
  if (process_ > 0 && becomes_ready(said_before)) return true;
  kill();
  return false;
}

void RedisServer::spawn() {
  std::vector<std::string> arguments{program()};
  if (!extras_.config.empty()) arguments.push_back(folder_ + "/redis.conf");
  for (const char* const argument : {"--bind", "127.0.0.1", "--save", ""}) {
    arguments.emplace_back(argument);
  }
  for (const auto& [name, value] : std::initializer_list<std::pair<std::string, std::string>>{
           {"--port", std::to_string(port_)},
           {"--cluster-port", std::to_string(bus_port_)},
           {"--dir", folder_},
           {"--enable-debug-command", "local"}}) {
    arguments.push_back(name);
    arguments.push_back(value);
  }
  arguments.insert(arguments.end(), extras_.arguments.begin(), extras_.arguments.end());
  if (!is_of_7()) arguments = before_7(arguments);
  const int log = ::open((folder_ + "/log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                         S_IRUSR | S_IWUSR);
  process_ = ::fork();
  if (process_ == 0) {
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);  // There it says what is wrong with its configuration.
    become_redis(std::move(arguments), extras_.environment);
  }
  ::close(log);
}

bool RedisServer::becomes_ready(std::size_t said_before) {
  const auto patience_ends_at = std::chrono::steady_clock::now() + std::chrono::seconds{30};
  while (std::chrono::steady_clock::now() < patience_ends_at) {
    if (log().find(extras_.ready_text, said_before) != std::string::npos) return true;
    if (::waitpid(process_, nullptr, WNOHANG) == process_) {
      process_ = -1;
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return false;
}

void RedisServer::kill() {
  if (process_ <= 0) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
  process_ = -1;
  frozen_ = false;
}

void RedisServer::freeze() {
  ::kill(process_, SIGSTOP);
  ::waitpid(process_, nullptr, WUNTRACED);  // Until all its threads have stopped.
  frozen_ = true;
}

void RedisServer::thaw() {
  ::kill(process_, SIGCONT);
  frozen_ = false;
}

std::string RedisServer::log() const {
  std::ifstream file(folder_ + "/log");
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string RedisServer::log_tail() const {
  constexpr std::size_t most = 2000;
  const std::string said = log();
  return said.size() > most ? said.substr(said.size() - most) : said;
}

Connection::Connection(int port, std::chrono::milliseconds patience) {
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval limit{.tv_sec = patience.count() / 1000, .tv_usec = patience.count() % 1000 * 1000};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
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
