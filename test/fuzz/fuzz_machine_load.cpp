// Any bytes as the files that tell a machine's load: refused, or read to figures in their ranges;
// and cut off anywhere, to the same figures or none.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "weir/local/machine_load.hpp"

namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::cerr << "broken: " << what << '\n';
  std::abort();
}

/// A cut text never reads as another figure.
template <typename Parse>
void cut(std::string_view text, const Parse& parse) {
  const auto whole = parse(text);
  for (std::size_t size = 0; size < text.size() && size < 256; ++size) {
    const auto part = parse(text.substr(0, size));
    require(!part || !whole || *part == *whole, "a cut text is none, or the same");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto load = weir::parse_load_average(text)) {
    require(load->last_minute >= 0 && load->last_minute <= 2'000'000'000, "the load average");
    require(load->running >= 0 && load->running <= 1'000'000, "the run queue");
  }
  if (const auto times = weir::parse_machine_times(text)) {
    require(times->idle <= times->all, "idle is a part of all");
  }
  const std::int64_t processors = weir::count_processors(text);
  require(processors >= 0 && static_cast<std::size_t>(processors) <= size / 4, "processors");
  if (const auto pressure = weir::parse_pressure(text)) {
    require(*pressure >= 0 && *pressure <= 1'000, "the pressure is per mille");
  }
  if (const auto limit = weir::parse_cpu_limit(text)) require(*limit >= 1, "the limit");
  if (const auto group = weir::parse_group(text)) require(group->starts_with('/'), "the group");
  (void)weir::parse_process_time(text);
  cut(text, weir::parse_load_average);
  cut(text, weir::parse_machine_times);
  cut(text, weir::parse_pressure);
  cut(text, weir::parse_cpu_limit);
  return 0;
}
