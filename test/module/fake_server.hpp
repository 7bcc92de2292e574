// A server for the module within this process: its API, a few keys, and a clock that a test sets.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "module/api.hpp"
#include "weir/vocabulary.hpp"
#include "wire/resp_reader.hpp"

namespace weir::module {

/// One at a time in a process: the module's API is global.
///
/// Errors   std::logic_error where the module breaks a rule of the API: a key left open, a reply
///          too many, a string not freed, a write without its announcement
class FakeServer {
 public:
  struct Stored {
    bool is_string = true;
    std::string bytes{};
    std::optional<std::int64_t> until_ms{};  ///< gone in the millisecond after

    bool operator==(const Stored&) const = default;
  };
  using Keys = std::map<std::string, Stored, std::less<>>;

  enum class Age : std::uint8_t { new_server, old_server };  ///< with all of the API, or 6.2's

  /// Loads the module with these words behind its path.
  explicit FakeServer(const std::vector<std::string>& words = {}, Age age = Age::new_server);
  ~FakeServer();
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  bool loaded() const noexcept { return loaded_; }
  const std::vector<std::string>& log() const noexcept { return log_; }

  void set_time(Instant now);
  void set_cluster(bool cluster) noexcept { cluster_ = cluster; }

  /// One command; its reply as a client of RESP3 gets it.
  wire::Reply run(const std::vector<std::string>& command);

  /// The arguments of a command that are keys.
  std::vector<std::string> keys_of(const std::vector<std::string>& command);

  /// What another hand wrote, here and on the replica.
  void plant(const std::string& key, const Stored& stored) { keys_[key] = replica_[key] = stored; }

  Keys& keys();  ///< those that have expired left out
  const Keys& replica() const noexcept { return replica_; }
  const std::vector<std::vector<std::string>>& replicated() const noexcept { return replicated_; }
  const std::vector<std::string>& events() const noexcept { return events_; }
  const std::vector<std::string>& signalled() const noexcept { return signalled_; }
  std::vector<std::string> commands() const;

  struct Functions;  ///< the API
  friend struct Functions;

 private:
  struct Command {
    Entry entry;
    std::string flags;
  };

  void expire();
  void replicate(std::vector<std::string> command);
  void add(wire::Reply value);
  void close_full();

  Age age_;
  bool loaded_ = false;
  bool cluster_ = false;
  bool asks_keys_ = false;
  std::map<std::string, Command, std::less<>> commands_;
  Keys keys_;
  Keys replica_;
  std::vector<std::vector<std::string>> replicated_;
  std::vector<std::string> events_;
  std::vector<std::string> signalled_;
  std::vector<std::string> log_;
  std::vector<int> key_positions_;
  std::vector<wire::Reply> replies_;
  struct Open {
    wire::Reply reply;
    std::size_t left;
  };
  std::vector<Open> open_;
  std::int64_t strings_ = 0;      ///< of the module's, not freed
  std::int64_t opened_keys_ = 0;  ///< not closed
};

}  // namespace weir::module
