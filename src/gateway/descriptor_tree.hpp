// Descriptors as envoyproxy/ratelimit's files nest them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/call.hpp"
#include "gateway/pattern.hpp"

namespace weir::gateway {

/// A tree of entries, whose nodes may have a rule.
///
/// An entry takes one step: to the child with its key and value, else to the first whose value has
/// a '*' and matches, else to the one with the key alone. A rule applies where the last entry ends;
/// no step is taken back.
class DescriptorTree {
 public:
  using Index = std::uint32_t;  ///< of a node; 0 is the root

  struct Step {
    std::string_view key;
    std::string_view value;  ///< may be empty: the key alone
  };
  /// A value with a '*' may have so many bytes: each may need another before it.
  static constexpr std::size_t longest_wild = Pattern::longest / 2;

  /// The child that the step makes; none where there is one already. Requires that a value with a
  /// '*' is no longer than longest_wild.
  std::optional<Index> add(Index parent, const Step& step);

  void set_rule(Index node, std::size_t rule) { nodes_[node].rule = rule; }

  struct Found {
    std::size_t rule;
    /// For each entry the value with a '*' that it was met by; null: by its own, or by its key.
    std::vector<const std::string*> met_by;
  };
  std::optional<Found> find(std::span<const Entry> entries) const;
  /// How many of the entries take a step.
  std::size_t steps(std::span<const Entry> entries) const;

  bool empty() const noexcept { return nodes_.size() == 1; }

 private:
  struct Wild {
    std::string key;
    std::string value;
    Pattern pattern;
    Index child;
  };
  /// Orders keys with their values, those of requests too.
  struct InOrder {
    using is_transparent = void;
    template <typename One, typename Other>
    bool operator()(const One& one, const Other& other) const {
      const int keys = std::string_view(one.first).compare(std::string_view(other.first));
      return keys != 0 ? keys < 0 : std::string_view(one.second) < std::string_view(other.second);
    }
  };
  struct Node {
    std::map<std::pair<std::string, std::string>, Index, InOrder> exact;
    std::vector<Wild> wild;
    std::map<std::string, Index, std::less<>> by_key;
    std::optional<std::size_t> rule;
  };

  /// Where an entry leads; null: nowhere. `met_by` becomes what Found says of the entry.
  const Node* next(const Node& node, const Entry& entry, const std::string*& met_by) const;

  std::vector<Node> nodes_{1};
};

}  // namespace weir::gateway
