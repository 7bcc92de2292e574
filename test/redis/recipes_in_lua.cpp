// The recipes in Lua 5.1 itself, with the commands of Redis that they and their tests use.
#include <lua5.1/lua.hpp>
#include <stdexcept>

#include "test/redis/recipe_store.hpp"

namespace weir::redis {
namespace {

/// A key lives through the millisecond at which it expires, as in Redis. A sorted set is a list of
/// {score, member}.
constexpr const char* commands = R"lua(
local data, dies, run = {}, {}, {}
now = 0
local function ms() return math.floor(now / 1000) end
local function alive(key)
  if dies[key] and ms() > dies[key] then data[key], dies[key] = nil, nil end
  return data[key]
end
local function text(value)
  return type(value) == 'number' and string.format('%.17g', value) or value
end
local function text_at(key)
  local value = alive(key)
  if type(value) == 'table' then error({err = 'WRONGTYPE Operation against a key'}) end
  return value
end
local function set_at(key)
  local value = alive(key)
  if type(value) == 'string' then error({err = 'WRONGTYPE Operation against a key'}) end
  return value or {}
end
local function keep(key, set)
  data[key] = #set > 0 and set or nil
  if #set == 0 then dies[key] = nil end
end
function run.TIME()
  return {string.format('%.0f', math.floor(now / 1000000)), string.format('%.0f', now % 1000000)}
end
function run.GET(key) return text_at(key) or false end
function run.SET(key, value, px, span)
  data[key], dies[key] = text(value), px and ms() + tonumber(span) or nil
  return 'OK'
end
function run.SETEX(key, seconds, value) return run.SET(key, value, 'PX', seconds * 1000) end
function run.DEL(key)
  local had = alive(key)
  data[key], dies[key] = nil, nil
  return had and 1 or 0
end
function run.INCRBY(key, by)
  data[key] = string.format('%.0f', (text_at(key) or 0) + by)
  return tonumber(data[key])
end
function run.PTTL(key) return alive(key) and (dies[key] and dies[key] - ms() or -1) or -2 end
function run.PEXPIRE(key, span) dies[key] = alive(key) and ms() + tonumber(span) return 1 end
function run.PERSIST(key) dies[key] = nil return 1 end
function run.ZCARD(key) return #set_at(key) end
function run.ZADD(key, score, member)
  local set, added = set_at(key), 1
  for at, entry in ipairs(set) do
    if entry[2] == member then
      table.remove(set, at)
      added = 0
      break
    end
  end
  set[#set + 1] = {tonumber(score), member}
  table.sort(set, function(a, b) return a[1] < b[1] or a[1] == b[1] and a[2] < b[2] end)
  keep(key, set)
  return added
end
-- Whether a score lies within; a bound may begin with '(' and then is none of them.
local function within(score, from, to)
  local function bound(word)
    local open = string.sub(word, 1, 1) == '('
    word = open and string.sub(word, 2) or word
    return word == '-inf' and -math.huge or word == '+inf' and math.huge or tonumber(word), open
  end
  local low, above = bound(from)
  local high, below = bound(to)
  return (above and score > low or not above and score >= low)
    and (below and score < high or not below and score <= high)
end
function run.ZCOUNT(key, from, to)
  local count = 0
  for _, entry in ipairs(set_at(key)) do
    if within(entry[1], from, to) then count = count + 1 end
  end
  return count
end
function run.ZREMRANGEBYSCORE(key, from, to)
  local stay = {}
  for _, entry in ipairs(set_at(key)) do
    if not within(entry[1], from, to) then stay[#stay + 1] = entry end
  end
  keep(key, stay)
end
function run.ZREMRANGEBYRANK(key, from, to)
  local set = set_at(key)
  for _ = from, to do table.remove(set, from + 1) end
  keep(key, set)
end
function run.ZRANGE(key, from, to)
  local set, reply = set_at(key), {}
  from, to = tonumber(from), tonumber(to)
  if from < 0 then from, to = #set + from, #set + to end
  for at = math.max(from, 0), to do
    reply[#reply + 1] = set[at + 1][2]
    reply[#reply + 1] = text(set[at + 1][1])
  end
  return reply
end
function command(name, ...)
  local _, reply = pcall(run[name], ...)
  return reply
end
redis = {pcall = command, call = function(name, ...) return run[name](...) end}
)lua";

void require(lua_State* lua, int status) {
  if (status != 0) throw std::runtime_error(lua_tostring(lua, -1));
}

/// The value on top as Redis answers it; taken off.
wire::Reply take_reply(lua_State* lua) {
  wire::Reply reply;
  switch (lua_type(lua, -1)) {
    case LUA_TNUMBER:
      reply.type = wire::ReplyType::integer;
      reply.integer = static_cast<std::int64_t>(lua_tonumber(lua, -1));
      break;
    case LUA_TSTRING:
      reply.type = wire::ReplyType::bulk;
      reply.text = lua_tostring(lua, -1);
      break;
    case LUA_TTABLE:
      lua_getfield(lua, -1, "err");
      if (lua_isstring(lua, -1)) {
        reply.type = wire::ReplyType::error;
        reply.text = lua_tostring(lua, -1);
      } else {
        reply.type = wire::ReplyType::array;
      }
      lua_pop(lua, 1);
      for (int at = 1; reply.type == wire::ReplyType::array; ++at) {
        lua_rawgeti(lua, -1, at);
        if (lua_isnil(lua, -1)) {
          lua_pop(lua, 1);
          break;
        }
        reply.elements.push_back(take_reply(lua));
      }
      break;
    default: break;
  }
  lua_pop(lua, 1);
  return reply;
}

class LuaRecipes : public RecipeStore {
 public:
  LuaRecipes() : lua_(luaL_newstate(), lua_close) {
    luaL_openlibs(lua_.get());
    require(lua_.get(), luaL_dostring(lua_.get(), commands));
  }

  void set_time(Instant now) override {
    lua_pushnumber(lua_.get(), static_cast<double>(now.time_since_epoch().count()));
    lua_setglobal(lua_.get(), "now");
  }

  wire::Reply run(Recipe recipe, const RecipeWords& words) override {
    lua_State* const lua = lua_.get();
    const std::ptrdiff_t keys = words.at(0) == "2" ? 2 : 1;
    push_list({words.begin() + 1, words.begin() + 1 + keys});
    lua_setglobal(lua, "KEYS");
    push_list({words.begin() + 1 + keys, words.end()});
    lua_setglobal(lua, "ARGV");
    const std::string_view script = text_of(recipe).script;
    require(lua, luaL_loadbuffer(lua, script.data(), script.size(), name(recipe)));
    require(lua, lua_pcall(lua, 0, 1, 0));
    return take_reply(lua);
  }

  wire::Reply command(const std::vector<std::string>& words) override {
    lua_State* const lua = lua_.get();
    lua_getglobal(lua, "command");
    for (const std::string& word : words) lua_pushlstring(lua, word.data(), word.size());
    require(lua, lua_pcall(lua, static_cast<int>(words.size()), 1, 0));
    return take_reply(lua);
  }

 private:
  void push_list(const std::vector<std::string>& values) {
    lua_newtable(lua_.get());
    for (std::size_t at = 0; at < values.size(); ++at) {
      lua_pushlstring(lua_.get(), values[at].data(), values[at].size());
      lua_rawseti(lua_.get(), -2, static_cast<int>(at + 1));
    }
  }

  std::unique_ptr<lua_State, void (*)(lua_State*)> lua_;
};

}  // namespace

std::vector<RecipeStoreMaker> recipe_stores() {
  return {{"Lua", [] { return std::make_unique<LuaRecipes>(); }}};
}

}  // namespace weir::redis
