// The time zones that this machine knows, by name.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "weir/algorithm/time_zone.hpp"

namespace weir {

/// Zones of a folder of TZif files, each read once and then kept for as long as this lives, so that
/// a limit's numbers can point to it. A name may come from the network: only those that the folder
/// listed at first are ever opened.
///
/// Threads  any
/// Cost     the first name lists the folder; a zone's first use reads its file; then a lookup
/// Memory   at most 2000 zones of some 5 KB, and their names
class TimeZones {
 public:
  static constexpr const char* usual_folder = "/usr/share/zoneinfo";
  /// Clocks of earlier years limit nobody; without them a zone is short.
  static constexpr int first_year = 2020;

  explicit TimeZones(std::string folder = usual_folder) : folder_(std::move(folder)) {}

  /// UTC is known everywhere. Errors: why there is no such zone, and which may have been meant.
  Expected<const TimeZone*, std::string> find(std::string_view name);

 private:
  using ByName = std::map<std::string, std::unique_ptr<const TimeZone>, std::less<>>;

  std::string unknown(std::string_view name) const;

  const std::string folder_;
  std::mutex mutex_;
  ByName zones_;  ///< null: not read yet
};

/// Those of this machine, for limits as text.
TimeZones& time_zones();

}  // namespace weir
