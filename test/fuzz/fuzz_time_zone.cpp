// Any bytes as a time zone's file and as its rule: refused, or read to a zone whose windows follow
// one another; and no zone before the file is whole.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "limit/posix_rule.hpp"
#include "limit/tzif.hpp"

namespace {

using weir::CalendarUnit;
using weir::Instant;
using weir::Span;
using weir::TimeZone;
using weir::Window;

void require(bool holds, const char* what) {
  if (holds) return;
  std::cerr << "broken: " << what << '\n';
  std::abort();
}

void expect_windows(const TimeZone& zone, Instant at) {
  for (const CalendarUnit unit : weir::calendar_units) {
    const Window window = zone.window_at(unit, at);
    require(window.begin <= at && at < window.turns_at, "an instant lies in its window");
    require(window.turns_at - window.begin >= zone.shortest(unit), "none is shorter than stated");
    const Window next = zone.window_at(unit, window.turns_at);
    require(next.begin == window.turns_at, "windows follow one another");
    require(zone.window_at(unit, window.turns_at - Span{1}) == window, "to the last tick");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)weir::read_posix_rule(bytes);
  const auto zone = weir::read_tzif(bytes);
  if (!zone) {
    require(*weir::describe(zone.error()) != '\0', "an error has words");
    return 0;
  }
  for (std::size_t cut = 0; cut < size; cut += 1 + size / 64) {
    require(!weir::read_tzif(bytes.substr(0, cut)), "a file that is cut short is none");
  }
  for (const std::int64_t at : {-(std::int64_t{1} << 52), std::int64_t{1'795'000'000'000'000},
                                std::int64_t{1} << 52, std::int64_t{1} << 53}) {
    expect_windows(*zone, Instant{Span{at}});
  }
  for (std::size_t at = 0; at < zone->changes().size(); at += 1 + zone->changes().size() / 8) {
    expect_windows(*zone, zone->changes()[at].at);
  }
  const TimeZone recent = weir::forgetting_before(2020, *zone);
  const Instant now{Span{1'795'000'000'000'000}};
  require(recent.offset_at(now) == zone->offset_at(now), "what is forgotten changes nothing since");
  return 0;
}
