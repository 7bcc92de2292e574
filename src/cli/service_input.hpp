// A simulated service as people write it on a command line.
#pragma once

#include <string>
#include <vector>

#include "cli/service_model.hpp"

namespace weir::cli {

/// The values of the options, as text; empty where nothing was said.
struct ServiceOptions {
  std::string servers{};
  std::string service_time{};
  std::string spread{};
  std::string timeout{};
  std::string phases{};
  std::string retries{};
  std::string retry_after{};
  std::string seed{};
};

inline constexpr const char* usual_phases = "10s@0.7 20s@1.5 10s@1.5x5 20s@1.5 10s@0.7";

/// A simulation runs in seconds and in a few hundred megabytes: whatever asks for more is refused.
inline constexpr std::chrono::seconds longest_service{600};
inline constexpr std::int64_t most_service_calls = 2'000'000;
inline constexpr std::size_t most_phases = 12;

Expected<Service, InputError> read_service(const ServiceOptions& options);

/// The phase as it is written: "10s@1.5x5".
std::string text_of(const Phase& phase);

}  // namespace weir::cli
