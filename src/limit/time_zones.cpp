#include "limit/time_zones.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "limit/characters.hpp"
#include "limit/edit_distance.hpp"
#include "limit/quoted.hpp"
#include "limit/tzif.hpp"

namespace weir {
namespace {

constexpr std::size_t most_zones = 2'000;
constexpr std::size_t longest_name = 64;
constexpr std::size_t largest_file = 65'536;

/// Africa/Porto-Novo, Etc/GMT+5: no dot, so no way out of the folder.
bool is_zone_name(std::string_view name) {
  if (name.empty() || name.size() > longest_name) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return is_letter(c) || is_digit(c) || c == '_' || c == '+' || c == '-' || c == '/';
  });
}

/// What else the folder holds begins with a small letter or has a dot.
std::vector<std::string> names_in(const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> names;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, error);
  for (const fs::recursive_directory_iterator end; !error && at != end; at.increment(error)) {
    std::string name = at->path().lexically_relative(folder).generic_string();
    std::error_code no_file;
    if (!is_zone_name(name) || small(name[0]) == name[0]) {
      at.disable_recursion_pending();
    } else if (at->is_regular_file(no_file) && names.size() < most_zones) {
      names.push_back(std::move(name));
    }
  }
  return names;
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(largest_file, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

/// The name without its folders.
std::string_view place(std::string_view name) { return name.substr(name.rfind('/') + 1); }

}  // namespace

Expected<const TimeZone*, std::string> TimeZones::find(std::string_view name) {
  if (name == "UTC") return &TimeZone::utc();
  if (!is_zone_name(name)) {
    return "expected a time zone such as Europe/Berlin, got " +
           (name.empty() ? "none" : quoted(name));
  }
  const std::lock_guard lock(mutex_);
  if (zones_.empty()) {
    for (std::string& known : names_in(folder_)) zones_.try_emplace(std::move(known));
  }
  const auto found = zones_.find(name);
  if (found == zones_.end()) return unknown(name);
  if (!found->second) {
    const std::string path = folder_ + "/" + found->first;
    const auto zone = read_tzif(bytes_of(path));
    if (!zone) return "time zone " + quoted(name) + ": " + path + " " + describe(zone.error());
    found->second = std::make_unique<const TimeZone>(forgetting_before(first_year, *zone));
  }
  return found->second.get();
}

std::string TimeZones::unknown(std::string_view name) const {
  if (zones_.empty()) {
    return "no time zones in " + folder_ + "; install tzdata, or leave the zone out for UTC";
  }
  constexpr std::size_t most_steps = 2;
  std::string_view nearest;
  std::size_t least = most_steps + 1;
  for (const auto& [known, zone] : zones_) {
    const std::size_t longer = std::max(known.size(), name.size());
    const bool near = longer - std::min(known.size(), name.size()) <= most_steps;
    const std::size_t away = near ? edit_distance(name, known) : most_steps + 1;
    if (away < least) {
      nearest = known;
      least = away;
    }
    if (least > most_steps && nearest.empty() && edit_distance(place(known), name) == 0)
      nearest = known;
  }
  const std::string text = "unknown time zone " + quoted(name);
  return nearest.empty() ? text : text + "; did you mean " + quoted(nearest) + "?";
}

TimeZones& time_zones() {
  static TimeZones* const zones = new TimeZones;  // limits that outlive main() point into it
  return *zones;
}

}  // namespace weir
