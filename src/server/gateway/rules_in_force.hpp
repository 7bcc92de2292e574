// The rules of a running server: all its workers go by the same generation at any instant.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/control.hpp"
#include "server/gateway/rule_keeper.hpp"
#include "server/worker.hpp"

namespace weir::server {

/// Threads  the control loop's
class RulesInForce {
 public:
  /// Both outlive it.
  struct Of {
    Service& service;
    const std::vector<std::unique_ptr<Worker>>& workers;
  };
  RulesInForce(const Of& of, RuleOptions options)
      : of_(of), keeper_(of.service.rules, std::move(options)) {}

  /// To be called when the workers' threads have begun, and when they end.
  void workers_begin() noexcept { running_ = true; }
  void workers_end() noexcept { running_ = false; }

  bool has_sources() const noexcept { return keeper_.has_sources(); }
  /// See RuleKeeper.
  bool changed() { return keeper_.changed(); }
  /// Of the rules in force; 0 where there are none.
  std::uint64_t generation() const noexcept;

  /// What is read whole and found good is in force; what is not changes nothing.
  std::optional<StartError> load();

  OverrideReport override_key(OverrideWish&& wish);
  /// Once a second.
  void end_overrides();
  const std::vector<LaidOverride>& overrides() const noexcept { return keeper_.overrides().all(); }

  void write_metrics(std::string& text, OfRules what) const;

 private:
  std::optional<StartError> lay(LaidOverrides overrides);
  void put_in_force(const std::shared_ptr<const Generation>& generation);

  Of of_;
  RuleKeeper keeper_;
  bool running_ = false;
};

}  // namespace weir::server
