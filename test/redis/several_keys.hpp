// Requests over several keys and limits at once: the scripts in a store against the machines.
#pragma once

#include <cstddef>

#include "test/redis/script_store.hpp"

namespace weir::redis {

/// Asks so many schedules of 400 events, every other under a clock that is also set back; compares
/// decisions, marks and stored states with the machines under settle(), and where the clock only
/// goes on, with Table::take_all too. Stops at the first difference, which fails the test.
void expect_equal_over_several_keys(ScriptStore& store, std::size_t schedules);

}  // namespace weir::redis
