// What a gate says of settings that are no good.
#pragma once

#include "weir/overload/call.hpp"

namespace weir {

/// Throws std::invalid_argument: "circuit breaker: probes: expected from 1 to 64".
[[noreturn]] void refuse_settings(const char* gate, const SettingsError& error);

}  // namespace weir
