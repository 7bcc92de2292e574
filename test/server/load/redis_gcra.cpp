#include "test/server/load/redis_gcra.hpp"

namespace weir::load {
namespace {

// Whole microseconds below 2^53 throughout, so a Lua number holds them exactly.
constexpr const char* beginning = R"lua(
local interval, burst, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
)lua";

constexpr const char* decision = R"lua(
local capacity = burst * interval
local repaid_at = math.max(tonumber(redis.call('GET', KEYS[1]) or now), now)
local after = repaid_at + cost * interval
if after - now > capacity then
  local remaining = math.floor((capacity - (repaid_at - now)) / interval)
  local retry_after = cost > burst and -1 or math.ceil((after - now - capacity) / 1000000)
  ON_REFUSAL
  return {1, burst, remaining, retry_after, math.ceil((repaid_at - now) / 1000000)}
end
if not (LOST) then
  redis.call('SET', KEYS[1], string.format('%.0f', after), 'PX', math.ceil((after - now) / 1000))
end
local remaining = math.floor((capacity - (after - now)) / interval)
return {0, burst, remaining, -1, math.ceil((after - now) / 1000000)}
)lua";

struct Blank {
  std::string name;
  std::string filling;
};

std::string text_of(Script script) {
  std::string text = std::string(beginning) + decision;
  const std::string charge =
      "redis.call('SET', KEYS[1], string.format('%.0f', after), 'PX', 60000)";
  for (const Blank& blank :
       {Blank{"ON_REFUSAL", script == Script::refusals_cost ? charge : ""},
        Blank{"LOST", script == Script::loses_writes ? "now % 8 == 0" : "false"}}) {
    text.replace(text.find(blank.name), blank.name.size(), blank.filling);
  }
  return text;
}

}  // namespace

std::optional<test::ServerCommand> redis_command(std::uint16_t port) {
  const auto program = test::find_program("redis-server");
  if (!program) return std::nullopt;
  return test::ServerCommand{
      .arguments = {*program, "--port", std::to_string(port), "--bind", "127.0.0.1", "--save", "",
                    "--appendonly", "no", "--dir", "/"},
      .ready_text = "Ready to accept connections"};
}

Question load_script(Conversation& redis, Script script, const ScriptLimit& limit) {
  const std::string digest = redis.ask_for_text({"SCRIPT", "LOAD", text_of(script)});
  return {.before_key = {"EVALSHA", digest, "1"},
          .after_key = {std::to_string(limit.interval_us), std::to_string(limit.burst), "1"},
          .form = AnswerForm::throttle};
}

Question increment() { return {.before_key = {"INCR"}, .form = AnswerForm::integer}; }

}  // namespace weir::load
