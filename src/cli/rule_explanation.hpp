// Which rules of a file a call meets, which not and why, without counting anything.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/input.hpp"
#include "gateway/rule_set.hpp"

namespace weir::cli {

/// A call as it is written on a command line; what is empty the call does not say.
struct CallWords {
  std::string domain{};
  std::string method{};
  std::string uri{};
  std::string host{};
  std::string ip{};
  std::string user{};
  std::vector<std::string> headers{};  ///< "X-Plan=free"
  std::vector<std::string> entries{};  ///< "tenant=t1", of one descriptor
};

/// How a call stands to a rule.
struct RuleStanding {
  std::string name{};
  std::size_t line = 0;
  std::string unmet{};                     ///< why the rule is not met; empty where it is
  std::string key{};                       ///< of the state
  std::string limit{};                     ///< a limit's text, "unlimited" or "blocked"
  bool overridden = false;                 ///< the limit is the key's own
  bool refused = false;                    ///< for the call does not say what the rule counts by
  bool shadow = false;                     ///< counts, and never refuses
  std::vector<std::string> replaced_by{};  ///< names of rules that are met, too
  std::vector<std::string> candidates{};   ///< limits that are tried out beside it
};

struct CallStanding {
  std::string domain{};
  std::vector<RuleStanding> rules{};  ///< in the file's order; of an Envoy file the one that is met
  std::string nowhere{};              ///< why a descriptor meets no rule of an Envoy file
};

/// Errors: a domain that is not there, an address or a pair that is none.
Expected<CallStanding, InputError> stand(const gateway::RuleSet& rules, const CallWords& words);

}  // namespace weir::cli
