#include "test/server/server_process.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <system_error>
#include <thread>

namespace weir::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds drain_within{10'000};

std::system_error failure(const char* call) {
  return std::system_error(errno, std::generic_category(), call);
}

/// An unnamed file in memory: the child may write as much as it likes and never waits for a reader.
int memory_file(const char* name) {
  const int file = memfd_create(name, MFD_CLOEXEC);
  if (file < 0) throw failure("memfd_create");
  return file;
}

std::string content(int file) {
  struct stat status {};
  if (fstat(file, &status) != 0) throw failure("fstat");
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  const ssize_t size = pread(file, text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return text;
}

/// The port in a complete line `<name> HOST:PORT`.
std::optional<std::uint16_t> announced_port(std::string_view output, const std::string& name) {
  while (!output.empty()) {
    const std::size_t end = output.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view line = output.substr(0, end);
    output.remove_prefix(end + 1);
    const std::size_t colon = line.rfind(':');
    if (!line.starts_with(name + ' ') || colon == std::string_view::npos) continue;
    std::uint16_t port = 0;
    const auto parsed = std::from_chars(line.data() + colon + 1, line.data() + line.size(), port);
    if (parsed.ec == std::errc{} && port != 0) return port;
  }
  return std::nullopt;
}

/// The rest of a life after fork(): only what a signal handler may call.
[[noreturn]] void become(char* const* arguments, int output_file, int errors_file) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(output_file, STDOUT_FILENO);
  dup2(errors_file, STDERR_FILENO);
  execvp(arguments[0], arguments);
  constexpr std::string_view complaint = "cannot be executed\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, complaint.data(), complaint.size());
  _exit(127);
}

}  // namespace

ServerProcess::ServerProcess(const ServerCommand& command)
    : output_file_(memory_file("stdout")), errors_file_(memory_file("stderr")) {
  try {
    spawn(command.arguments);
    await_ready(command);
  } catch (...) {
    kill_and_reap();
    close(output_file_);
    close(errors_file_);
    throw;
  }
}

ServerProcess::~ServerProcess() {
  terminate();
  close(output_file_);
  close(errors_file_);
}

std::string ServerProcess::output() const { return content(output_file_); }

std::string ServerProcess::errors() const { return content(errors_file_); }

void ServerProcess::spawn(const std::vector<std::string>& arguments) {
  std::vector<char*> raw;
  for (const std::string& argument : arguments) raw.push_back(const_cast<char*>(argument.c_str()));
  raw.push_back(nullptr);
  pid_ = fork();
  if (pid_ < 0) throw failure("fork");
  if (pid_ == 0) become(raw.data(), output_file_, errors_file_);
}

void ServerProcess::await_ready(const ServerCommand& command) {
  const auto deadline = Clock::now() + command.start_within;
  for (;;) {
    const bool ended = reap_within(std::chrono::milliseconds{1});
    const std::string text = output();
    for (const std::string& listener : command.listeners) {
      if (const auto port = announced_port(text, listener)) ports_[listener] = *port;
    }
    const bool ready = ports_.size() == command.listeners.size() &&
                       text.find(command.ready_text) != std::string::npos;
    if (ready && !ended) return;
    if (!ended && Clock::now() < deadline) continue;
    std::ostringstream why;
    why << command.arguments[0] << (ended ? " ended with status " : " was not ready within ")
        << (ended ? *exit_status_ : static_cast<int>(command.start_within.count()))
        << (ended ? "" : " ms") << "\nstandard output: " << text
        << "\nstandard error: " << errors();
    throw ServerDidNotStart(why.str());
  }
}

/// Waits for the child's end. A descriptor of the process wakes at once, without a signal handler.
bool ServerProcess::reap_within(std::chrono::milliseconds patience) {
  if (exit_status_ || pid_ <= 0) return true;
  const auto watched = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  if (watched < 0) throw failure("pidfd_open");
  pollfd end{.fd = watched, .events = POLLIN, .revents = 0};
  const int woken = poll(&end, 1, static_cast<int>(patience.count()));
  close(watched);
  if (woken <= 0) return false;
  int status = 0;
  if (waitpid(pid_, &status, 0) != pid_) throw failure("waitpid");
  exit_status_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return true;
}

void ServerProcess::kill_and_reap() {
  if (exit_status_ || pid_ <= 0) return;
  kill(pid_, SIGKILL);
  while (!reap_within(std::chrono::milliseconds{1'000})) {
  }
}

int ServerProcess::terminate() {
  if (!exit_status_) {
    kill(pid_, SIGTERM);
    if (!reap_within(drain_within)) kill_and_reap();
  }
  return *exit_status_;
}

std::uint16_t unused_port() {
  const int socket_file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket_file < 0) throw failure("socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  const bool known = bind(socket_file, raw, size) == 0 && getsockname(socket_file, raw, &size) == 0;
  close(socket_file);
  if (!known) throw failure("bind");
  return ntohs(address.sin_port);
}

std::optional<std::string> find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string candidate = folder + '/' + name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return std::nullopt;
}

}  // namespace weir::test
