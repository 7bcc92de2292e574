// The limits that clients name, each parsed once.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "weir/limit.hpp"

namespace weir::module {

/// A limit as it is kept in a store.
struct KnownLimit {
  Limit limit;
  std::string name;  ///< "@name", or the limit's canonical text: a part of the stored key
  Span slack;        ///< the longest patience that is granted (decision 0012)
};

/// Memory   the named ones, and at most `most_unnamed` others: then they begin anew
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
  }

  /// Until begin(). A sentence where the text is no limit that a store can keep.
  Expected<const KnownLimit*, std::string> find(std::string_view text);

 private:
  static Expected<KnownLimit, std::string> known(std::string_view text);

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>()(text);
    }
  };
  using ByText = std::unordered_map<std::string, KnownLimit, Hash, std::equal_to<>>;
  ByText named_;
  ByText unnamed_;
};

}  // namespace weir::module
