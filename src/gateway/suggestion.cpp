#include "gateway/suggestion.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace weir::gateway {
namespace {

struct Spelling {
  std::string_view given;
  std::string_view known;
};

/// How many letters must be put in, left out or changed.
std::size_t distance(const Spelling& words) {
  const std::size_t columns = words.known.size() + 1;
  std::vector<std::size_t> row(columns);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= words.given.size(); ++i) {
    const std::vector<std::size_t> last = std::exchange(row, std::vector<std::size_t>(columns, i));
    for (std::size_t j = 1; j < columns; ++j) {
      const std::size_t change = words.given[i - 1] == words.known[j - 1] ? 0 : 1;
      row[j] = std::min({row[j - 1] + 1, last[j] + 1, last[j - 1] + change});
    }
  }
  return row.back();
}

}  // namespace

std::string suggestion(std::string_view given, std::span<const std::string_view> known) {
  std::string_view nearest;
  std::size_t least = std::min<std::size_t>(3, given.size() / 2 + 1);
  for (const std::string_view word : known) {
    // So much at least, and a long word that came over the network costs nothing.
    const std::size_t longer = std::max(given.size(), word.size());
    if (longer - std::min(given.size(), word.size()) >= least) continue;
    const std::size_t steps = distance({.given = given, .known = word});
    if (steps < least) {
      least = steps;
      nearest = word;
    }
  }
  return nearest.empty() ? "" : "; did you mean '" + std::string(nearest) + "'?";
}

}  // namespace weir::gateway
