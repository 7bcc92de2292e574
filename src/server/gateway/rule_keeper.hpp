// Where a server's rules come from, and what is in force.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gateway/rule_files.hpp"
#include "server/gateway/generation.hpp"
#include "server/gateway/laid_overrides.hpp"
#include "server/options.hpp"
#include "server/start_error.hpp"
#include "weir/local/table.hpp"

namespace weir::server {

/// Reads rule files whole, checks them, and gives each rule the states of its identity: those of a
/// rule of the same name in the same domain before, whatever its numbers.
///
/// Threads  one at a time
class RuleKeeper {
 public:
  RuleKeeper(Rules& rules, RuleOptions options) : rules_(rules), options_(std::move(options)) {}

  bool has_sources() const noexcept { return !options_.files.empty() || !options_.rate.empty(); }

  /// The rules as they are now, as the next generation; what is in force does not change. Requires
  /// that what is given back comes into force.
  Expected<std::shared_ptr<const Generation>, StartError> load();

  /// The generation is in force from now on. How the states of the one before go over to it, which
  /// is to be done while nobody asks.
  std::vector<Table::Succession> put_in_force(std::shared_ptr<const Generation> generation,
                                              Instant now);

  /// The rules in force with other overrides laid over them, as the next generation. Requires rules
  /// in force, and that what is given back comes into force.
  Expected<std::shared_ptr<const Generation>, StartError> lay(LaidOverrides overrides);
  const LaidOverrides& overrides() const noexcept { return overrides_; }

  const std::shared_ptr<const Generation>& in_force() const noexcept { return in_force_; }

  /// Identities that any generation had so far, each with a number below this.
  std::size_t identities() const noexcept { return numbers_.size(); }

  /// Once a second: whether the files are others than those last read, and have been the same for
  /// a second, so that no half-written one is read.
  bool changed();

 private:
  Expected<std::vector<gateway::Domain>, std::string> read() const;
  Expected<std::shared_ptr<Generation>, StartError> make(std::vector<gateway::Domain> domains);
  std::optional<std::string> bind(gateway::Domain& domain);
  std::optional<std::string> bind(gateway::Quota& quota, const std::string& name);

  Rules& rules_;
  RuleOptions options_;
  std::shared_ptr<const Generation> in_force_;
  LaidOverrides overrides_;
  std::uint64_t made_ = 0;                        ///< generations
  std::map<std::string, std::uint64_t> numbers_;  ///< by domain and identity
  std::string read_stamps_;
  std::string seen_stamps_;
};

}  // namespace weir::server
