// The limits that clients name, each parsed once.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "redis/told_limit.hpp"
#include "weir/limit.hpp"

namespace weir::module {

/// A limit as it is kept in a store.
struct KnownLimit {
  Limit limit;
  std::string name;       ///< "@name", or the limit's canonical text: a part of the stored key
  redis::ToldLimit kept;  ///< as its states are
};

/// Memory   the named ones, and at most `most_unnamed` others of each kind: then they begin anew
/// Threads  the server's main thread
class Limits {
 public:
  static constexpr std::size_t most_unnamed = 10'000;

  struct Naming {
    std::string_view name;
    std::string_view limit;
  };
  /// Names a limit, once: "@name" means it from then on. Why not, or empty.
  std::string add(const Naming& wanted);

  /// A command begins: what find() gave before may be forgotten.
  void begin() {
    if (unnamed_.size() >= most_unnamed) unnamed_.clear();
    if (told_.size() >= most_unnamed) told_.clear();
  }

  /// Until begin(). A sentence where the text is no limit that a store can keep.
  Expected<const KnownLimit*, std::string> find(std::string_view text);

  /// Until begin(), of a limit in the words that scripts are told; null where it is none.
  const redis::ToldLimit* find_told(std::string_view text);

 private:
  static Expected<KnownLimit, std::string> known(std::string_view text);

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>()(text);
    }
  };
  template <typename Known>
  using ByText = std::unordered_map<std::string, Known, Hash, std::equal_to<>>;
  ByText<KnownLimit> named_;
  ByText<KnownLimit> unnamed_;
  ByText<redis::ToldLimit> told_;
};

}  // namespace weir::module
