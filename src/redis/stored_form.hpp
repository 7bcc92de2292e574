// A state as it lies in the store.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "weir/limit.hpp"

namespace weir::redis {

/// The state's bytes: a letter for its machine (machine_letter) and the form's version, 1, then
/// the fields of limit/state_form.hpp in that order, each a double, lowest byte first. They are
/// integers within 2^53, so a double holds them exactly, and Lua packs and unpacks them at once.
///
/// A sliding log of more than 128 entries is a ring that the scripts change in place: r1, then
/// head, size, slots and newest, then the slots.
std::string write_stored(const Limit::State& state);

/// The state of these bytes; none where they are no state. Any bytes may be given.
std::optional<Limit::State> read_stored(std::string_view bytes);

}  // namespace weir::redis
