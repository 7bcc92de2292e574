// A server as a child process, for as long as a test needs it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace weir::test {

/// What to run, and how it says that it is ready.
struct ServerCommand {
  std::vector<std::string> arguments;  ///< the first is the program: a path, or looked for in PATH
  /// Names of listeners. Each is awaited on standard output as a line `<name> HOST:PORT`.
  std::vector<std::string> listeners{};
  /// Awaited anywhere on standard output, for servers with other manners. Empty: not awaited.
  std::string ready_text{};
  std::chrono::milliseconds start_within{10'000};
};

/// The child ended or stayed silent; what() holds what it wrote to standard error.
struct ServerDidNotStart : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Threads  one at a time
/// Errors   the constructor throws ServerDidNotStart
class ServerProcess {
 public:
  /// Starts the server and returns once it is ready. The child is killed should its parent die.
  explicit ServerProcess(const ServerCommand& command);
  /// Asks it to end, as terminate() does.
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  pid_t pid() const { return pid_; }
  /// The port of a listener named in the command.
  std::uint16_t port(const std::string& listener) const { return ports_.at(listener); }
  std::string output() const;  ///< all that it wrote to standard output so far
  std::string errors() const;  ///< and to standard error

  /// Sends SIGTERM and waits for the end, and for no longer than ten seconds: then SIGKILL. Returns
  /// the exit status, or minus the signal that ended it. Later calls return the same.
  int terminate();

 private:
  void spawn(const std::vector<std::string>& arguments);
  void await_ready(const ServerCommand& command);
  bool reap_within(std::chrono::milliseconds patience);
  void kill_and_reap();

  int output_file_;
  int errors_file_;
  pid_t pid_ = -1;
  std::optional<int> exit_status_;
  std::map<std::string, std::uint16_t> ports_;
};

/// A port on 127.0.0.1 that was free a moment ago, for servers that cannot choose one themselves.
std::uint16_t unused_port();

/// The path of a program in PATH, if it is there.
std::optional<std::string> find_program(const std::string& name);

}  // namespace weir::test
