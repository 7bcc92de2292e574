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

 private:
  Loaded loaded_;
  ClockFile clock_;
  wire::RedisServer server_;
  test::RedisConnection connection_;
  std::map<std::string, std::string> digests_;
};

}  // namespace weir::redis
