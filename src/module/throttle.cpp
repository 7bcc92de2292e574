// CL.THROTTLE, as a drop-in for redis-cell: its key, its bytes, its five integers.
#include <charconv>

#include "module/call.hpp"
#include "weir/algorithm/redis_cell.hpp"
#include "wire/limiter_command.hpp"

namespace weir::module {
namespace {

constexpr std::int64_t ns_in_us = 1'000;

/// Decimal nanoseconds since 1970, as redis-cell writes them.
std::optional<Gcra::State> read(std::string_view bytes) noexcept {
  std::int64_t ns = 0;
  const char* const end = bytes.data() + bytes.size();
  const auto [stop, error] = std::from_chars(bytes.data(), end, ns);
  if (bytes.empty() || error != std::errc{} || stop != end || ns < 0) return {};
  return Gcra::State{{Instant{Span{ns / ns_in_us}}, ns % ns_in_us}};
}

/// The state's bytes, in the room that it is given.
std::string_view write(const Gcra::Config& config, const Gcra::State& state,
                       std::span<char, 20> room) noexcept {
  const FineInstant& at = state.repaid_at;
  const std::int64_t rest_ns = at.rest * ns_in_us / config.interval.parts();
  const std::int64_t ns = at.whole.time_since_epoch().count() * ns_in_us + rest_ns;
  const auto [end, error] = std::to_chars(room.data(), room.data() + room.size(), ns);
  return {room.data(), error == std::errc{} ? static_cast<std::size_t>(end - room.data()) : 0};
}

}  // namespace

void throttle(Call& call) {
  const auto read_call = wire::read_throttle(call.words);
  if (!read_call) return call.reply.error("ERR " + read_call.error().message);
  const RedisCell::Call asked{read_call->max_burst, read_call->count, read_call->period_s,
                              read_call->quantity};
  const auto configured = RedisCell::configure(asked);
  if (!configured) {
    return call.reply.error(std::string("ERR ") + RedisCell::describe(configured.error()));
  }
  const Gcra::Config& config = *configured;

  Key key(call.context, call.texts[1], Key::Use::to_change);
  const Key::Holds holds = key.holds();
  Gcra::State state;
  if (holds != Key::Holds::nothing) {
    const auto kept = holds == Key::Holds::bytes ? read(key.bytes()) : std::nullopt;
    if (!kept) {
      return call.reply.error(
          "WRONGTYPE key: holds something else; expected the nanoseconds that CL.THROTTLE keeps");
    }
    state = *kept;
  }

  Decision decision;
  bool changed = false;
  if (asked.quantity < 0) {
    changed = Gcra::refund(config, state, call.now, -asked.quantity) > 0;
    decision = peek<Gcra>(config, state, {call.now, 0});
  } else {
    decision = step<Gcra>(config, state, {call.now, asked.quantity});
    changed = taken(decision.verdict) && asked.quantity > 0;
  }
  if (changed) {
    const Instant fresh_at = Gcra::fresh_at(config, state);
    if (fresh_at > call.now) {
      std::array<char, 20> room;
      key.write(write(config, state, room), fresh_at);
    } else if (holds != Key::Holds::nothing) {
      key.erase();
    }
  }
  const auto told = RedisCell::reply(config, asked, decision, state.repaid_at, call.now);
  call.reply.array(told.size());
  for (const std::int64_t number : told) call.reply.integer(number);
}

}  // namespace weir::module
