// Many connections that ask one question of many keys, as fast as answers come back, and write down
// what they saw.
#pragma once

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "test/history/history.hpp"
#include "test/server/load/key_chooser.hpp"
#include "test/server/load/question.hpp"

namespace weir::load {

struct Load {
  std::uint16_t port = 0;  ///< on 127.0.0.1
  Question question{};
  Keys keys{};
  std::string key_prefix = "key:";  ///< keys are the prefix and a number
  std::uint64_t seed = 1;
  std::int64_t requests = 1;
  std::uint32_t threads = 1;
  std::uint32_t connections = 1;  ///< in all, >= threads
  std::uint32_t pipeline = 1;     ///< requests that a connection writes at once
  enum class Keep { history, counts } keep = Keep::history;
  std::chrono::seconds finish_within{60};
};

struct Outcome {
  /// One record a request. A call is the moment before its batch was written; a return the moment
  /// after the bytes that held its answer were read.
  history::History history;
  std::int64_t answered = 0;
  std::int64_t admitted = 0;
  std::int64_t absurd = 0;  ///< answers that contradict themselves
  std::string first_absurdity;
  std::chrono::nanoseconds took{};
};

/// No connection, a broken one, an error reply, or the time was up.
struct LoadFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Closed loop: each connection writes a batch, awaits all its answers, and writes the next.
/// Throws LoadFailed.
Outcome run(const Load& load);

/// One connection and one question at a time, for what must be asked in order.
///
/// Errors  all throw LoadFailed; no answer within ten seconds is one
class Conversation {
 public:
  explicit Conversation(std::uint16_t port);
  ~Conversation();
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  Answer ask(const Question& question, const std::string& key);
  /// The text of a reply that is one string, for example a script's digest.
  std::string ask_for_text(const std::vector<std::string>& command);

 private:
  void write_all(const std::string& bytes);
  void read_some();

  int socket_;
  std::string unread_;
};

}  // namespace weir::load
