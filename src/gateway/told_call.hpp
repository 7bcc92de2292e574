// A call that nobody makes: an operator tells of it, to see what would become of one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gateway/rule_set.hpp"

namespace weir::gateway {

/// What is said of the call; what is empty the call does not say.
class ToldCall {
 public:
  struct Pair {
    std::string name;
    std::string value;
  };

  std::string method{};
  std::string uri{};
  std::string host{};
  std::string user{};  ///< else the domain's header of users says it
  std::optional<Address> ip{};
  std::vector<Pair> headers{};  ///< names in any case
  std::vector<Pair> entries{};  ///< of one descriptor

  /// As a domain with these clients meets it. Views hold until this changes.
  Call call(const Clients& clients);

 private:
  std::string lower_host_;
  std::string route_;
  std::vector<Header> header_views_;
  std::vector<Entry> entry_views_;
};

}  // namespace weir::gateway
