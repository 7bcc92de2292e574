// What workers may ask of the control loop.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace weir::server {

/// What came of reading files again.
struct ReloadReport {
  std::vector<std::string> reloaded{};  ///< "rules", "password", ...
  std::vector<std::string> kept{};      ///< what stays as it was, each with the reason
  std::uint64_t generation = 0;         ///< of the rules in force; 0: there are none
};

/// Threads  any; what is asked is done on the control loop, and `then` called there
class Control {
 public:
  Control() = default;
  virtual ~Control() = default;
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  /// Reads again what SIGHUP does.
  virtual void reload(std::function<void(ReloadReport&&)> then) = 0;
};

}  // namespace weir::server
