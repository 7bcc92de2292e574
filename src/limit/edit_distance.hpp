// How near a word is to another that somebody may have meant.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <vector>

#include "limit/characters.hpp"

namespace weir {

/// How many letters must be put in, left out or changed; capitals are no change.
inline std::size_t edit_distance(std::string_view one, std::string_view other) {
  std::vector<std::size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t at = 0; at < one.size(); ++at) {
    std::size_t diagonal = row[0];
    row[0] = at + 1;
    for (std::size_t to = 0; to < other.size(); ++to) {
      const std::size_t changed = diagonal + (small(one[at]) == small(other[to]) ? 0 : 1);
      diagonal = row[to + 1];
      row[to + 1] = std::min({changed, row[to] + 1, row[to + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace weir
