// A server that answers what a test tells it to.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace weir::test {

/// On a free port of 127.0.0.1, in a thread of its own; speaks RESP2 with those who ask it by RESP.
class ScriptedServer {
 public:
  using Words = std::vector<std::string>;

  struct Said {
    std::string bytes{};
    enum class Then : unsigned char { go_on, close } then = Then::go_on;
  };

  /// Called on the server's thread for each command, also for those of a client's greeting:
  /// greet() knows what to say to them.
  using Script = std::function<Said(const Words& command)>;

  explicit ScriptedServer(Script script);
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  int port() const { return port_; }
  std::string url() const { return "redis://127.0.0.1:" + std::to_string(port_); }

  /// How many clients have come so far.
  int accepted() const { return accepted_; }

 private:
  void run();

  Script script_;
  int port_ = 0;
  int listener_ = -1;
  int wake_[2] = {-1, -1};
  std::atomic<int> accepted_{0};
  std::thread thread_;
};

/// What a RESP2 server of old says to a client's first words; no bytes to other commands.
std::string greet(const ScriptedServer::Words& command);

/// "$2\r\nhi\r\n".
std::string bulk(const std::string& text);

}  // namespace weir::test
