// The rules that are in force from one reload to the next.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/rule_set.hpp"

namespace weir::server {

/// The units of limits that calls bring along themselves, from RateLimitUnit's 1.
inline constexpr std::array<std::string_view, 7> units_of_calls{"1s",  "1m",   "1h", "1d",
                                                                "30d", "365d", "7d"};

/// Read whole and checked; never changed once it is in force.
struct Generation {
  Generation(std::uint64_t its_number, std::vector<gateway::Domain> domains)
      : number(its_number), rules(std::move(domains)) {}

  std::uint64_t number;  ///< counts the changes of rules, from 1
  std::chrono::system_clock::time_point read_at = std::chrono::system_clock::now();
  gateway::RuleSet rules;
  std::array<const weir::Rule*, units_of_calls.size()> states_of_calls{};  ///< one for each unit
};

/// The line of an HTTP response that tells which rules decided it.
inline std::string generation_line(const Generation& generation) {
  return "Weir-Generation: " + std::to_string(generation.number) + "\r\n";
}

}  // namespace weir::server
