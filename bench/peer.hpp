// The servers that are compared, each started, asked and checked in its own way.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "test/server/load/question.hpp"
#include "test/server/server_process.hpp"

namespace weir::bench {

/// A running server and the question that it is to be asked.
struct Running {
  std::unique_ptr<test::ServerProcess> server;
  std::uint16_t port;
  load::Question question;
};

/// Threads  one at a time
/// Errors   what load::run and test::ServerProcess throw
class Peer {
 public:
  virtual ~Peer() = default;
  virtual std::string name() const = 0;
  /// What is known of its answers, for the table.
  virtual std::string answers() const = 0;
  /// Why it cannot take part on this machine.
  virtual std::optional<std::string> absence() const = 0;
  /// Starts it afresh.
  virtual Running start() const = 0;
  /// Asks questions whose answers are known; says what was wrong. Touches no key of the load.
  virtual std::optional<std::string> wrong_answer(const Running& running) const = 0;
};

/// Paths of programs that this tree builds.
struct Programs {
  std::string floor;
  std::string weir;
};

/// Every peer by the name that the command line uses: floor, weir, redis-lua, redis-incr.
std::unique_ptr<Peer> peer_named(const std::string& name, const Programs& programs);

/// User and system time that a process has used so far.
std::chrono::nanoseconds cpu_time(pid_t pid);

}  // namespace weir::bench
