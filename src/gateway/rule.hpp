// One rule of a rule file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/address.hpp"
#include "gateway/call.hpp"
#include "gateway/file_error.hpp"
#include "gateway/key_template.hpp"
#include "gateway/pattern.hpp"
#include "gateway/yaml.hpp"
#include "weir/limit.hpp"
#include "weir/local/rule.hpp"

namespace weir::gateway {

/// Which calls a rule is for: those that all of it is true of. What is empty is true of any.
struct Condition {
  struct OfHeader {
    std::string name;  ///< in lower case
    std::vector<Pattern> values;
  };
  struct OfEntry {
    std::string key;
    std::vector<Pattern> values;  ///< empty: any
  };

  std::vector<Pattern> routes{};
  std::vector<Pattern> methods{};
  std::vector<Pattern> hosts{};
  std::vector<OfHeader> headers{};
  std::optional<NetworkSet> networks{};
  std::vector<OfEntry> entries{};
  bool whole_descriptor = false;  ///< it has those entries, and no others

  bool holds(const Call& call) const;
};

/// What a key may have.
struct Quota {
  enum class Kind : std::uint8_t { limited, unlimited, blocked };

  Kind kind = Kind::limited;
  std::optional<Limit> limit{};        ///< of a limited one
  const weir::Rule* states = nullptr;  ///< what its states are named by, once it is in force
  bool of_call = false;                ///< the states go on under whatever numbers a call brings
};

/// As a rule file has it.
std::string print(const Quota& quota);

/// What becomes of a call whose store does not answer.
enum class WithoutStore : std::uint8_t { as_server, share, open, closed };

/// What becomes of a call that does not say what the rule counts by.
enum class WhenMissing : std::uint8_t { skip, share, refuse };

/// What an identity's parts have as %XX.
inline constexpr ReservedBytes reserved_in_identities("=/{}~!");
inline constexpr std::size_t most_candidates = 4;
inline constexpr Cost largest_lease = 1'000'000;
inline constexpr Span longest_hold = std::chrono::minutes(1);

/// A rule, under whose identity counters and metrics live on when the file is read again.
struct EdgeRule {
  std::string identity;  ///< within its domain; no two are equal
  std::string name;      ///< as `replaces` and header fields have it; may be empty in Envoy's files
  std::string label;     ///< as metrics have it
  Place at{};            ///< in its file

  Condition condition{};
  KeyTemplate key{};
  WhenMissing missing = WhenMissing::skip;
  Quota quota{};
  Cost cost = 1;
  Span hold{0};  ///< a deferred call's answer is kept back so long at most
  /// Units that a client of RateLimitService is given at once; 1: it asks each time.
  Cost lease = 1;
  WithoutStore without_store = WithoutStore::as_server;
  bool shadow = false;              ///< counts and decides, and never refuses
  std::vector<Quota> candidates{};  ///< limits that are tried out beside it, on the same calls
  std::map<std::string, Quota, std::less<>> overrides{};  ///< by key
  std::vector<std::string> replaces{};  ///< names of rules that do not count where this one does

  /// Of Envoy's files.
  bool quota_mode = false;
  bool share_threshold = false;
  YamlNode metadata{};       ///< a map, of what is told where the rule lets a descriptor through
  std::uint64_t number = 0;  ///< in order of the identities that a process has met; from the host
};

}  // namespace weir::gateway
