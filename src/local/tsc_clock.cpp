// Which counter TscClock reads, and whether it may.
#include <chrono>
#include <cstdio>
#include <string_view>

#include "weir/local/clocks.hpp"

#ifdef __x86_64__
#include <cpuid.h>
#endif

namespace weir {
namespace {

std::int64_t steady_ns() noexcept {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

#ifdef __x86_64__

std::uint64_t tsc() noexcept { return __builtin_ia32_rdtsc(); }

/// Linux watches the counters of all cores against other timers for as long as it runs, and takes
/// another source of time if they disagree. Where it does not say, the processor's word counts.
bool system_trusts_tsc() noexcept {
  constexpr const char* path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
  std::FILE* const file = std::fopen(path, "re");
  if (file == nullptr) return true;
  char name[64] = {};
  const std::size_t size = std::fread(name, 1, sizeof name, file);
  std::fclose(file);
  std::string_view source(name, size);
  source = source.substr(0, source.find('\n'));
  return source.empty() || source == "tsc" || source == "kvm-clock" ||
         source == "hyperv_clocksource_tsc_page";
}

/// CPUID 0x80000007, EDX bit 8: the counter runs at one rate in every state of the processor.
bool tsc_is_usable() noexcept {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  const bool tells = __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) != 0;
  return tells && (edx & (1U << 8)) != 0 && system_trusts_tsc();
}

#else

std::uint64_t tsc() noexcept { return 0; }
bool tsc_is_usable() noexcept { return false; }

#endif

}  // namespace

constinit TscTimeline TscClock::timeline{TscSource{tsc, steady_ns, tsc_is_usable}};

bool TscClock::uses_tsc() noexcept { return timeline.follows_tsc(); }

}  // namespace weir
