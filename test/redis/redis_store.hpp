// The scripts in a real redis-server whose clock the test sets.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "test/redis/lua_store.hpp"
#include "test/redis/redis_connection.hpp"
#include "test/wire/redis_server.hpp"

namespace weir::redis {

/// A wall clock in a file, for test/redis/set_clock.cpp.
class ClockFile {
 public:
  ClockFile();
  ~ClockFile();
  ClockFile(const ClockFile&) = delete;
  ClockFile& operator=(const ClockFile&) = delete;

  void set(Instant now);
  /// What a redis-server needs in its environment to go by this clock.
  std::vector<std::string> environment() const;

 private:
  std::string path_;
  volatile std::int64_t* time_ = nullptr;
};

class RedisStore : public ScriptStore {
 public:
  explicit RedisStore(Loaded loaded, const wire::RedisServer::Extras& extras = {});

  std::string name() const override;
  void set_time(Instant now) override { clock_.set(now); }
  ScriptReply call(const ScriptCall& call) override;
  std::optional<std::string> get(std::string_view key) override;
  void set(std::string_view key, std::string_view value) override;
  bool erase(std::string_view key) override;
  std::optional<std::int64_t> expires_in_ms(std::string_view key) override;

  /// Any command.
  wire::Reply run(const std::vector<std::string>& command);

 protected:
  /// A script's call: its command and name, then the keys and arguments.
  ScriptReply run(std::vector<std::string> command, const ScriptCall& call);
  ScriptReply call_script(const ScriptCall& call);

 private:
  Loaded loaded_;
  ClockFile clock_;
  wire::RedisServer server_;
  test::RedisConnection connection_;
  std::map<std::string, std::string> digests_;
};

/// The text as a release with another number would have it: weir_2.
std::string renumbered(std::string text);

/// A store that clients of two releases share, and such as have scripts alone: each call is
/// another's.
class ReleasesSideBySide : public RedisStore {
 public:
  ReleasesSideBySide();

  std::string name() const override { return "two releases and EVALSHA in Redis"; }
  ScriptReply call(const ScriptCall& call) override;

 private:
  std::size_t calls_ = 0;
};

}  // namespace weir::redis
