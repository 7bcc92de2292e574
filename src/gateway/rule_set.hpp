// All rules that are in force at one time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gateway/descriptor_tree.hpp"
#include "gateway/forwarded.hpp"
#include "gateway/rule.hpp"
#include "weir/http/rate_fields.hpp"

namespace weir::gateway {

/// Who a call's client is.
struct Clients {
  ClientFrom ip_from = ClientFrom::x_forwarded_for;
  NetworkSet trusted{};  ///< proxies whose word is taken for it
  Grouping grouping{};
  std::string user_header{};  ///< in lower case; empty: nobody is known by name
};

/// Where all of a descriptor's or a request's rules lie.
struct Domain {
  std::string name;
  Place at{};  ///< of the name, in its file
  Clients clients{};
  std::vector<EdgeRule> rules{};
  /// Of an envoyproxy/ratelimit file: says which of the rules a descriptor meets, and that each
  /// counts by itself.
  DescriptorTree tree{};
  bool of_envoy = false;
  /// Of the limits that calls bring along themselves.
  EdgeRule given{};
  http::RateDialect dialect = http::RateDialect::ietf;  ///< of the fields of responses
  bool dynamic_metadata = false;  ///< answers of RateLimitService tell what was asked
};

/// A rule that a call meets.
struct Match {
  const EdgeRule* rule = nullptr;
  const Quota* quota = nullptr;  ///< its own, or that of the key
  std::string key{};             ///< of the state
  bool refused = false;          ///< for the call does not say what the rule counts by
  std::size_t call = 0;          ///< which of several it is; whoever asks says so
};

/// The rules of a domain, found for a call.
///
/// Threads  any at once
class RuleIndex {
 public:
  /// The domain must outlive the index.
  explicit RuleIndex(const Domain& domain);

  /// Appends all that the call meets; what another replaces is still among them.
  void match(const Call& call, std::vector<Match>& matches) const;

  const Domain& domain() const noexcept { return *domain_; }

 private:
  void match_descriptor(const Call& call, std::vector<Match>& matches) const;
  void consider(const EdgeRule& rule, const Call& call, std::vector<Match>& matches) const;

  const Domain* domain_;
  /// Rules for one route alone, by it, and all others, in their order.
  std::unordered_map<std::string_view, std::vector<const EdgeRule*>> by_route_;
  std::vector<const EdgeRule*> others_;
};

/// Takes away what others of them replace, which replaces all the same; whether there was any.
bool drop_replaced(std::vector<Match>& matches);

/// The domains of all files.
class RuleSet {
 public:
  /// No two domains share a name.
  explicit RuleSet(std::vector<Domain> domains);
  RuleSet(const RuleSet&) = delete;
  RuleSet& operator=(const RuleSet&) = delete;

  /// Null where there is none of the name.
  const RuleIndex* find(std::string_view domain) const;
  /// The domain that is meant where none is named: the only one, or the one named "default".
  const RuleIndex* usual() const;

  std::vector<Domain>& domains() noexcept { return domains_; }
  const std::vector<Domain>& domains() const noexcept { return domains_; }

 private:
  std::vector<Domain> domains_;
  std::map<std::string_view, RuleIndex> indexes_;
};

}  // namespace weir::gateway
