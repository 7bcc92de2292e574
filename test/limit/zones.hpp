// The zones whose clocks are hardest to follow, and all others.
#pragma once

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "limit/time_zones.hpp"

namespace weir {

inline constexpr std::array hard_zones{
    "Africa/Casablanca",    // back an hour each Ramadan, and no rule for it
    "Africa/Cairo",         // from midnight on
    "America/Havana",       // forward at midnight, back at one
    "America/New_York",     //
    "America/Nuuk",         // a rule with a time before midnight
    "America/Santiago",     // a rule with 24:00, in the south
    "America/Sao_Paulo",    // midnights that there were not, until 2019
    "Antarctica/Casey",     // three hours at once, a minute past midnight
    "Antarctica/Troll",     // two hours
    "Asia/Gaza",            // a rule with 50 hours
    "Asia/Kathmandu",       // 45 minutes
    "Asia/Shanghai",        //
    "Australia/Lord_Howe",  // half an hour
    "Europe/Berlin",        //
    "Europe/Dublin",        // set back for summer, on paper
    "Pacific/Apia",         // 30 December 2011 never was
    "Pacific/Chatham",      // 2:45
    "UTC"};

/// Every zone of this machine, each once, whatever other names it has.
inline std::vector<std::string> all_zones() {
  namespace fs = std::filesystem;
  std::vector<std::string> names;
  const fs::path folder = TimeZones::usual_folder;
  for (fs::recursive_directory_iterator at(folder), end; at != end; ++at) {
    std::string name = at->path().lexically_relative(folder).generic_string();
    if (name[0] < 'A' || name[0] > 'Z' || name.find('.') != std::string::npos) continue;
    if (at->is_regular_file() && !at->is_symlink()) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace weir
