// Time zones as files have them: TZif, RFC 8536.
#pragma once

#include <string_view>

#include "weir/algorithm/time_zone.hpp"

namespace weir {

/// Why bytes are no time zone. describe() has the words.
enum class TzifError : std::uint8_t {
  not_tzif,      ///< they do not begin as such a file
  old,           ///< version 1, which ends in 2037 and has no rule for the years behind it
  cut_short,     ///< they end before what their header counts
  odd,           ///< a count or an index that no such file has, or leap seconds
  unknown_rule,  ///< the rule at the end is not two changes a year by month, week and weekday
  no_zone,       ///< offsets and changes that no clock has
};

const char* describe(TzifError error) noexcept;

/// The zone of a file's bytes, as far back as the file goes. Any bytes may be given.
Expected<TimeZone, TzifError> read_tzif(std::string_view bytes);

/// The zone as if its clocks had never been set before that year.
TimeZone forgetting_before(int year, const TimeZone& zone);

}  // namespace weir
