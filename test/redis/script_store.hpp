// A store that runs the scripts: Lua in this process, or a redis-server.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "redis/limit_config.hpp"
#include "redis/scripts.hpp"
#include "weir/vocabulary.hpp"

namespace weir::redis {

/// A call of one verb: `letter` is that of the limits' machine, m where they differ.
struct ScriptCall {
  ScriptVerb verb;
  char letter;
  std::vector<std::string> keys;
  std::vector<std::string> arguments;
};

struct ScriptReply {
  std::vector<std::int64_t> integers{};  ///< one, but of take and peek
  std::string error{};

  bool operator==(const ScriptReply&) const = default;
};

class ScriptStore {
 public:
  virtual ~ScriptStore() = default;

  virtual std::string name() const = 0;
  virtual bool keeps(const Limit& limit) const { return config_text(limit).has_value(); }
  virtual void set_time(Instant now) = 0;
  virtual ScriptReply call(const ScriptCall& call) = 0;
  virtual std::optional<std::string> get(std::string_view key) = 0;
  virtual void set(std::string_view key, std::string_view value) = 0;
  /// Whether there was something.
  virtual bool erase(std::string_view key) = 0;
  /// Until the key expires; none where it never does, or there is none.
  virtual std::optional<std::int64_t> expires_in_ms(std::string_view key) = 0;
  /// What that is right after a write of what says nothing from `fresh_at` on.
  virtual std::int64_t kept_for_ms(Instant now, Instant fresh_at) const {
    return (fresh_at - now).count() / 1'000 + 1;
  }
};

}  // namespace weir::redis
