// Whether a machine can run a server as planned: facts in, findings out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace weir::cli {

enum class Health : std::uint8_t { ok, warn, fail };

constexpr const char* name(Health health) noexcept {
  constexpr const char* names[] = {"ok", "warn", "fail"};
  return names[static_cast<std::uint8_t>(health)];
}

struct Finding {
  Health health = Health::ok;
  std::string subject;  ///< "descriptors"
  std::string seen;     ///< what was found
  std::string mend{};   ///< what to do; empty where all is well
};

/// What a server would be started with.
struct Plan {
  std::string resp = "127.0.0.1:7379";
  std::string metrics = "127.0.0.1:7390";
  std::size_t threads = 1;
  std::size_t max_keys = 1'000'000;
  std::size_t max_connections = 10'000;
};

/// What became of an attempt to listen.
struct Binding {
  enum class Outcome : std::uint8_t { free, in_use, impossible };
  Outcome outcome = Outcome::free;
  std::string reason{};  ///< where it is impossible
};

/// What answers at an address that is in use.
struct Answerer {
  enum class Kind : std::uint8_t { weir, other, nobody };
  Kind kind = Kind::nobody;
  std::string tells{};  ///< weir's version, or what the other said
};

/// The facts of a machine. Tests tell them; of this one machine.cpp asks the system.
struct Machine {
  std::filesystem::path root = "/";  ///< with proc and sys below it
  std::function<Binding(const std::string& address)> bind;
  std::function<Answerer(const std::string& address)> ask_resp;
  std::function<Answerer(const std::string& address)> ask_metrics;
  std::uint64_t descriptors = 0;             ///< the soft limit
  std::optional<bool> clock_synchronised{};  ///< absent: the system does not tell
  std::int64_t clock_nanoseconds = 0;        ///< what a reading of the steady clock costs
  std::size_t processors = 1;                ///< that this process may run on
};

/// In a fixed order, one for each subject.
std::vector<Finding> examine(const Machine& machine, const Plan& plan);

/// The worst of all.
Health worst(const std::vector<Finding>& findings);

}  // namespace weir::cli
