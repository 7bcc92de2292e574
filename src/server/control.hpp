// What workers may ask of the control loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "server/gateway/laid_overrides.hpp"

namespace weir::server {

/// What came of reading files again.
struct ReloadReport {
  std::vector<std::string> reloaded{};  ///< "rules", "password", ...
  std::vector<std::string> kept{};      ///< what stays as it was, each with the reason
  std::uint64_t generation = 0;         ///< of the rules in force; 0: there are none
};

/// What an operator wants of one key of a rule.
struct OverrideWish {
  KeyOfRule of;
  std::optional<gateway::Quota> quota{};  ///< none: what its file says
  std::optional<Span> lasting{};          ///< none: until the server ends
};

struct OverrideReport {
  std::string error{};  ///< why nothing changed; empty where it did
  std::uint64_t generation = 0;
  std::size_t overrides = 0;  ///< that operators have set
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

  /// In force in every thread before `then` is called.
  virtual void override_key(OverrideWish wish, std::function<void(OverrideReport&&)> then) = 0;
  virtual void list_overrides(std::function<void(std::vector<LaidOverride>&&)> then) = 0;
};

}  // namespace weir::server
