// What all gates in a process have in common: so that they can stand one behind another.
#pragma once

#include <concepts>
#include <type_traits>

#include "weir/overload/call.hpp"

namespace weir {

/// What a gate answers to one call: true where it was let in.
///
///   refused()       why not, as the gate has it; in it ready_at, when to ask again
///   end(how, now)   the call ended. Once; what comes later does nothing
///   withdraw()      it never ran: as if it had not entered
///
/// Destroying one that was let in and not ended ends it as CallEnd::ignored.
template <typename P>
concept EntryPass = std::is_nothrow_move_constructible_v<P> &&
    requires(P& pass, const P& asked, CallEnd how, SteadyInstant now) {
  {static_cast<bool>(asked)};
  { asked.refused().ready_at } -> std::convertible_to<SteadyInstant>;
  pass.end(how);
  pass.end(how, now);
  pass.withdraw();
};

/// Lets a call in or refuses it, at once and without waiting.
///
///   try_enter(entry, now)   a pass
///   clock()                 what the gate itself reads the time from
template <typename G>
concept Gate = requires(G& gate, const Entry& entry, SteadyInstant now) {
  { gate.try_enter(entry, now) } -> EntryPass;
  { gate.clock().now() } -> std::convertible_to<SteadyInstant>;
};

/// The pass of a gate.
template <Gate G>
using PassOf = decltype(std::declval<G&>().try_enter(Entry{}, SteadyInstant{}));

}  // namespace weir
