// The scripts in this process: Lua 5.1 with a few commands of Redis.
#pragma once

#include <memory>
#include <string>

#include "test/redis/script_store.hpp"

struct lua_State;

namespace weir::redis {

/// How a script is run: as a function of the library, or as a script of its own for each call.
enum class Loaded : std::uint8_t { library, scripts };

class LuaStore : public ScriptStore {
 public:
  explicit LuaStore(Loaded loaded);

  std::string name() const override;
  void set_time(Instant now) override;
  ScriptReply call(const ScriptCall& call) override;
  std::optional<std::string> get(std::string_view key) override;
  void set(std::string_view key, std::string_view value) override;
  bool erase(std::string_view key) override;
  std::optional<std::int64_t> expires_in_ms(std::string_view key) override;

  /// Commands that changed something, since the store began.
  std::size_t writes();

  /// Runs Lua beside the scripts; returns its one value as a number.
  double evaluate(const std::string& chunk);

 private:
  void push_list(const std::vector<std::string>& values);
  void load_script(const ScriptCall& call);
  ScriptReply take_reply();

  Loaded loaded_;
  std::unique_ptr<lua_State, void (*)(lua_State*)> lua_;
};

}  // namespace weir::redis
