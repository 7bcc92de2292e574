#include "gateway/suggestion.hpp"

#include <algorithm>
#include <cstddef>

#include "limit/edit_distance.hpp"

namespace weir::gateway {

std::string suggestion(std::string_view given, std::span<const std::string_view> known) {
  std::string_view nearest;
  std::size_t least = std::min<std::size_t>(3, given.size() / 2 + 1);
  for (const std::string_view word : known) {
    // So much at least, and a long word that came over the network costs nothing.
    const std::size_t longer = std::max(given.size(), word.size());
    if (longer - std::min(given.size(), word.size()) >= least) continue;
    const std::size_t steps = edit_distance(given, word);
    if (steps < least) {
      least = steps;
      nearest = word;
    }
  }
  return nearest.empty() ? "" : "; did you mean '" + std::string(nearest) + "'?";
}

}  // namespace weir::gateway
