// Limits of single keys that operators set while the server runs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "gateway/rule_set.hpp"

namespace weir::server {

/// A key of a rule, by the rule's identity.
struct KeyOfRule {
  std::string domain;
  std::string rule;
  std::string key;

  bool operator==(const KeyOfRule&) const = default;
};

struct LaidOverride {
  KeyOfRule of;
  gateway::Quota quota{};
  std::optional<Instant> until{};
  std::optional<gateway::Quota> of_file{};  ///< what it lies over
};

/// They lie over those of rule files, and outlive a reload for as long as their rule is there.
///
/// Bound   most of them
class LaidOverrides {
 public:
  static constexpr std::size_t most = 1000;

  /// In place of one that the key has already. False where there are too many.
  bool set(LaidOverride wanted);
  /// False where the key has none.
  bool remove(const KeyOfRule& of);
  bool has(const KeyOfRule& of) const;
  bool any_ended(Instant now) const;
  void end(Instant now);

  const std::vector<LaidOverride>& all() const noexcept { return all_; }

  /// Into domains as their files have them. Forgets those whose rule is not there.
  void lay(std::vector<gateway::Domain>& domains);
  /// Makes domains as their files have them.
  void lift(std::vector<gateway::Domain>& domains) const;

 private:
  std::vector<LaidOverride> all_;
};

}  // namespace weir::server
