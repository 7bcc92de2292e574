#include "test/redis/lua_store.hpp"

#include <cstring>
#include <lua5.1/lua.hpp>
#include <stdexcept>

namespace weir::redis {
namespace {

/// The commands that the scripts use. A key lives through the millisecond at which it expires, as
/// in Redis.
constexpr const char* commands = R"lua(
data, dies, now, writes, functions = {}, {}, 0, 0, {}
local sub, floor = string.sub, math.floor
local function alive(key)
  if dies[key] and floor(now / 1000) > dies[key] then data[key], dies[key] = nil, nil end
  return data[key]
end
local run = {}
function run.TIME()
  return {string.format('%.0f', floor(now / 1000000)), string.format('%.0f', now % 1000000)}
end
function run.GET(key) return alive(key) or false end
function run.STRLEN(key) return #(alive(key) or '') end
function run.GETRANGE(key, from, to) return sub(alive(key) or '', from + 1, to + 1) end
function run.SET(key, value, px, ms)
  data[key], dies[key] = value, ms and floor(now / 1000) + tonumber(ms) or nil
  writes = writes + 1
end
function run.SETRANGE(key, from, value)
  local old = alive(key) or ''
  assert(from <= #old)
  data[key] = sub(old, 1, from) .. value .. sub(old, from + #value + 1)
  writes = writes + 1
end
function run.PEXPIRE(key, ms) dies[key] = floor(now / 1000) + tonumber(ms) end
function run.DEL(key)
  local had = alive(key)
  data[key], dies[key] = nil, nil
  writes = writes + 1
  return had and 1 or 0
end
redis = {
  call = function(name, ...) return run[name](...) end,
  pcall = function(name, ...) return run[name](...) end,
  register_function = function(name, callback)
    if type(name) == 'table' then name, callback = name.function_name, name.callback end
    functions[name] = callback
  end,
}
function value_of(key) return alive(key) end
function expires_in(key) return alive(key) and dies[key] and dies[key] - floor(now / 1000) or -1 end
)lua";

/// struct.pack of H and d, lowest byte first.
int pack(lua_State* lua) {
  std::string bytes;
  int argument = 2;
  for (const char* form = luaL_checkstring(lua, 1); *form; ++form) {
    if (*form == '<') continue;
    const double number = luaL_checknumber(lua, argument++);
    char field[sizeof number];
    std::size_t size = sizeof number;
    if (*form == 'H') {
      const auto small = static_cast<std::uint16_t>(number);
      size = sizeof small;
      std::memcpy(field, &small, size);
    } else {
      std::memcpy(field, &number, size);
    }
    bytes.append(field, size);
  }
  lua_pushlstring(lua, bytes.data(), bytes.size());
  return 1;
}

int unpack(lua_State* lua) {
  std::size_t length = 0;
  const char* form = luaL_checkstring(lua, 1);
  const char* bytes = luaL_checklstring(lua, 2, &length);
  std::size_t at = static_cast<std::size_t>(luaL_optinteger(lua, 3, 1)) - 1;
  int values = 0;
  luaL_checkstack(lua, static_cast<int>(std::strlen(form)) + 1, "too many values");
  for (; *form; ++form) {
    if (*form == '<') continue;
    double number = 0;
    const std::size_t size = *form == 'H' ? 2 : sizeof number;
    if (at + size > length) return luaL_error(lua, "data string too short");
    if (*form == 'H') {
      std::uint16_t small = 0;
      std::memcpy(&small, bytes + at, size);
      number = small;
    } else {
      std::memcpy(&number, bytes + at, size);
    }
    lua_pushnumber(lua, number);
    at += size;
    ++values;
  }
  lua_pushinteger(lua, static_cast<lua_Integer>(at + 1));
  return values + 1;
}

void require(lua_State* lua, int status) {
  if (status != 0) throw std::runtime_error(lua_tostring(lua, -1));
}

std::string_view top_text(lua_State* lua) {
  std::size_t length = 0;
  const char* text = lua_tolstring(lua, -1, &length);
  return {text, length};
}

}  // namespace

LuaStore::LuaStore(Loaded loaded) : loaded_(loaded), lua_(luaL_newstate(), lua_close) {
  lua_State* const lua = lua_.get();
  luaL_openlibs(lua);
  require(lua, luaL_dostring(lua, commands));
  if (loaded == Loaded::library) {
    const std::string library = function_library();
    const std::string body = library.substr(library.find('\n'));
    require(lua, luaL_dostring(lua, body.c_str()));  // before there is struct, as in Redis
  }
  lua_newtable(lua);
  lua_pushcfunction(lua, pack);
  lua_setfield(lua, -2, "pack");
  lua_pushcfunction(lua, unpack);
  lua_setfield(lua, -2, "unpack");
  lua_setglobal(lua, "struct");
}

std::string LuaStore::name() const {
  return loaded_ == Loaded::library ? "library in Lua 5.1" : "scripts in Lua 5.1";
}

void LuaStore::set_time(Instant now) {
  lua_pushnumber(lua_.get(), static_cast<double>(now.time_since_epoch().count()));
  lua_setglobal(lua_.get(), "now");
}

void LuaStore::push_list(const std::vector<std::string>& values) {
  lua_newtable(lua_.get());
  for (std::size_t at = 0; at < values.size(); ++at) {
    lua_pushlstring(lua_.get(), values[at].data(), values[at].size());
    lua_rawseti(lua_.get(), -2, static_cast<int>(at + 1));
  }
}

void LuaStore::load_script(const ScriptCall& call) {
  lua_State* const lua = lua_.get();
  const std::string known = std::string("script ") + redis::name(call.verb) + call.letter;
  lua_getfield(lua, LUA_REGISTRYINDEX, known.c_str());
  if (!lua_isnil(lua, -1)) return;
  lua_pop(lua, 1);
  require(lua, luaL_loadstring(lua, script_of(call.verb, call.letter).c_str()));
  lua_pushvalue(lua, -1);
  lua_setfield(lua, LUA_REGISTRYINDEX, known.c_str());
}

ScriptReply LuaStore::call(const ScriptCall& call) {
  lua_State* const lua = lua_.get();
  int arguments = 0;
  if (loaded_ == Loaded::library) {
    lua_getglobal(lua, "functions");
    lua_getfield(lua, -1, function_name(call.verb).c_str());
    lua_remove(lua, -2);
    push_list(call.keys);
    push_list(call.arguments);
    arguments = 2;
  } else {
    push_list(call.keys);
    lua_setglobal(lua, "KEYS");
    push_list(call.arguments);
    lua_setglobal(lua, "ARGV");
    load_script(call);
  }
  require(lua, lua_pcall(lua, arguments, 1, 0));
  ScriptReply reply = take_reply();
  lua_settop(lua, 0);
  return reply;
}

ScriptReply LuaStore::take_reply() {
  lua_State* const lua = lua_.get();
  if (lua_isnumber(lua, -1)) return {{static_cast<std::int64_t>(lua_tonumber(lua, -1))}, ""};
  lua_getfield(lua, -1, "err");
  if (lua_isstring(lua, -1)) return {{}, std::string(top_text(lua))};
  lua_pop(lua, 1);
  ScriptReply reply;
  for (int at = 1;; ++at) {
    lua_rawgeti(lua, -1, at);
    if (lua_isnil(lua, -1)) return reply;
    reply.integers.push_back(static_cast<std::int64_t>(lua_tonumber(lua, -1)));
    lua_pop(lua, 1);
  }
}

std::optional<std::string> LuaStore::get(std::string_view key) {
  lua_State* const lua = lua_.get();
  lua_getglobal(lua, "value_of");
  lua_pushlstring(lua, key.data(), key.size());
  require(lua, lua_pcall(lua, 1, 1, 0));
  std::optional<std::string> value;
  if (lua_isstring(lua, -1)) value = top_text(lua);
  lua_settop(lua, 0);
  return value;
}

void LuaStore::set(std::string_view key, std::string_view value) {
  lua_State* const lua = lua_.get();
  lua_getglobal(lua, "data");
  lua_pushlstring(lua, key.data(), key.size());
  lua_pushlstring(lua, value.data(), value.size());
  lua_settable(lua, -3);
  lua_settop(lua, 0);
}

bool LuaStore::erase(std::string_view key) {
  lua_State* const lua = lua_.get();
  lua_getglobal(lua, "redis");
  lua_getfield(lua, -1, "call");
  lua_pushstring(lua, "DEL");
  lua_pushlstring(lua, key.data(), key.size());
  require(lua, lua_pcall(lua, 2, 1, 0));
  const bool had = lua_tonumber(lua, -1) > 0;
  lua_settop(lua, 0);
  return had;
}

std::optional<std::int64_t> LuaStore::expires_in_ms(std::string_view key) {
  lua_State* const lua = lua_.get();
  lua_getglobal(lua, "expires_in");
  lua_pushlstring(lua, key.data(), key.size());
  require(lua, lua_pcall(lua, 1, 1, 0));
  const auto ms = static_cast<std::int64_t>(lua_tonumber(lua, -1));
  lua_settop(lua, 0);
  if (ms < 0) return {};
  return ms;
}

std::size_t LuaStore::writes() { return static_cast<std::size_t>(evaluate("return writes")); }

double LuaStore::evaluate(const std::string& chunk) {
  lua_State* const lua = lua_.get();
  require(lua, luaL_dostring(lua, chunk.c_str()));
  const double value = lua_tonumber(lua, -1);
  lua_settop(lua, 0);
  return value;
}

}  // namespace weir::redis
