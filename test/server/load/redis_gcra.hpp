// A peer that is known to decide rightly: GCRA as a Lua script in redis-server.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "test/history/check.hpp"
#include "test/server/load/question.hpp"
#include "test/server/load/resp_load.hpp"
#include "test/server/server_process.hpp"

namespace weir::load {

struct ScriptLimit {
  std::int64_t burst = 16;
  std::int64_t interval_us = 2'000'000;

  history::Bucket bucket() const {
    return {.burst = burst, .count = 1, .period_ns = interval_us * 1'000};
  }
};

/// How a script decides: rightly, or wrongly in a way that has happened to others.
enum class Script {
  gcra,
  /// Forgets about one admission in eight, as clients do that check and write in two commands.
  loses_writes,
  /// Writes what it refused, so that a client which keeps knocking never gets in again.
  refusals_cost,
};

/// How to start a Redis that keeps nothing, on a port that is free. Empty where none is installed.
std::optional<test::ServerCommand> redis_command(std::uint16_t port);

/// Loads the script into the server. Its answers have CL.THROTTLE's form and units.
Question load_script(Conversation& redis, Script script, const ScriptLimit& limit);

/// Plain INCR, which decides nothing.
Question increment();

}  // namespace weir::load
