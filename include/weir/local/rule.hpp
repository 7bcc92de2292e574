// Limits under the names that states are kept by.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "weir/limit.hpp"

namespace weir {

/// A limit and the name that its states are kept under: the operator's name ("login"), or the
/// limit's own canonical text. Two rules on one key never meet.
struct Rule {
  std::uint32_t id;
  std::string name;
  Limit limit;
  bool named;  ///< by the operator, rather than by a request
  /// The memory that a state can come to own beside itself.
  std::size_t state_bytes_elsewhere = limit.largest_state_bytes() - sizeof(Limit::State);
  /// Rules that follow each other on the same keys (Table::succeed) are of one family.
  std::uint32_t family = id;
};

/// Every rule that a process knows. Rules live as long as the registry.
///
/// Threads  safe from any thread; find() of a known rule takes one uncontended lock
/// Errors   add() and find() say why a text is no rule
class Rules {
 public:
  /// Unnamed rules come with requests, so they are bounded; so are those that follow others.
  static constexpr std::size_t most_unnamed = 10'000;
  static constexpr std::size_t most_following = 1'000'000;
  static constexpr std::size_t longest_following_name = 2'048;

  Rules();

  struct Naming {
    std::string_view name;
    std::string_view limit;
  };

  /// Names a limit. Requires a name of letters, digits, '_', '-', '.' or ':', not yet taken, and a
  /// limit that starts full.
  Expected<const Rule*, LimitError> add(Naming wanted);

  /// The rule of a name that may come to stand for other limits: the one that it had with this
  /// limit before, else a new one of the same family. Requires a limit that starts full, and a name
  /// that holds a '/', which those of add() do not. From then on "@name" means this rule.
  Expected<const Rule*, LimitError> follow(std::string_view name, const Limit& limit);

  /// The rule that a request means: "@name", or a limit's text.
  Expected<const Rule*, LimitError> find(std::string_view text);

  /// The rule of every CL.THROTTLE key: parameters come with each call.
  const Rule& redis_cell() const noexcept { return *redis_cell_; }

  /// All rules of add(), in their order.
  std::vector<const Rule*> named() const;

  std::size_t size() const;

 private:
  const Rule* keep(std::string_view name, Limit limit, bool named, const Rule* first = nullptr);

  using Followers = std::vector<const Rule*>;

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<const Rule>> rules_;
  std::map<std::string, const Rule*, std::less<>> by_name_;  ///< "@login" or a canonical text
  std::vector<const Rule*> named_;
  std::map<std::string, Followers, std::less<>> followers_;  ///< by name; one for each limit
  std::size_t following_ = 0;
  std::size_t unnamed_ = 0;
  const Rule* redis_cell_;
};

}  // namespace weir
