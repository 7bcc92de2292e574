// Chance that can be repeated.
#pragma once

#include <cstdint>

namespace weir {

/// The next of a row of numbers that look random, and the same for the same seed. SplitMix64:
/// G. Steele, D. Lea, C. Flood, "Fast Splittable Pseudorandom Number Generators", 2014.
constexpr std::uint64_t next_random(std::uint64_t& seed) noexcept {
  seed += 0x9e3779b97f4a7c15;
  std::uint64_t mixed = seed;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return mixed ^ (mixed >> 31);
}

}  // namespace weir
