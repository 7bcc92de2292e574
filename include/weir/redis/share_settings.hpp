// How a limit is divided among the processes that share it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "weir/vocabulary.hpp"

namespace weir::redis {

/// How a limit is divided among its members. What is left when all have what they want is added to
/// each in equal parts.
enum class Division : std::uint8_t {
  equal,         ///< the same for each, whatever it wants
  proportional,  ///< each has an equal share; what some leave of it, others get by what they lack
  fair,          ///< nobody gets more while another who wants it has less
};

constexpr const char* name(Division division) noexcept {
  constexpr const char* names[] = {"equal", "proportional", "fair"};
  return names[static_cast<std::uint8_t>(division)];
}

/// What a member lets in while no registry answers and its lease is over.
enum class WithoutRegistry : std::uint8_t {
  closed,  ///< nothing: the limit holds whatever happens
  share,   ///< limit / members: each of those who are cut off
};

struct SharedRateSettings {
  std::string name;                 ///< of the limit: members of one name share it
  Cost count;                       ///< units in each period, of all members together
  std::chrono::nanoseconds period;  ///<
  Cost burst;                       ///< units at once, of all members together
  Division division = Division::fair;
  /// How long a share is held, the same for all members; 100 ms to a day. A member asks again five
  /// times in a lease, and what a member held that died is given to others when it ends.
  std::chrono::nanoseconds lease = std::chrono::seconds{10};
  WithoutRegistry without = WithoutRegistry::closed;
  /// Of WithoutRegistry::share: how many there are at most; it counts with more where the registry
  /// told of more. > 0
  std::uint32_t members = 1;
  std::uint64_t seed = 0;  ///< of the member's number and its pauses; 0: one of its own
};

}  // namespace weir::redis
