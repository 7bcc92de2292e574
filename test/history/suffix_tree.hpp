// Sums of costs over all calls from some instant on, and the instant where the sum is greatest.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "test/history/wide.hpp"

namespace weir::history {

/// A segment tree over places 0 .. size-1, each with a sum of costs (0 at first) and a head start
/// that counts once the place has been added to.
class SuffixTree {
 public:
  struct Best {
    Wide value;
    std::size_t place;
  };

  struct Addition {
    Wide cost;
    Wide head_start;  ///< the same at each addition to one place
  };

  explicit SuffixTree(std::size_t size)
      : leaves_(std::bit_ceil(size > 0 ? size : 1)), nodes_(2 * leaves_) {}

  void add(std::size_t place, const Addition& addition) {
    std::size_t node = leaves_ + place;
    nodes_[node].sum += addition.cost;
    nodes_[node].best = nodes_[node].sum + addition.head_start;
    nodes_[node].place = place;
    while (node > 1) {
      node /= 2;
      const Node& left = nodes_[2 * node];
      const Node& right = nodes_[2 * node + 1];
      const bool left_is_better = left.best > nothing && left.best + right.sum > right.best;
      nodes_[node] = {.sum = left.sum + right.sum,
                      .best = left_is_better ? left.best + right.sum : right.best,
                      .place = left_is_better ? left.place : right.place};
    }
  }

  /// The place with the greatest head start plus all costs at it and after it. Requires an add().
  Best best() const { return {nodes_[1].best, nodes_[1].place}; }

  /// All costs at `place` and after it. Requires place <= size.
  Wide sum_from(std::size_t place) const {
    Wide sum = 0;
    for (std::size_t low = leaves_ + place, high = 2 * leaves_; low < high; low /= 2, high /= 2) {
      if (low % 2 == 1) sum += nodes_[low++].sum;
      if (high % 2 == 1) sum += nodes_[--high].sum;
    }
    return sum;
  }

 private:
  static constexpr Wide nothing = std::numeric_limits<std::int64_t>::min() * (Wide{1} << 63);

  struct Node {
    Wide sum = 0;
    Wide best = nothing;
    std::size_t place = 0;
  };

  std::size_t leaves_;
  std::vector<Node> nodes_;
};

}  // namespace weir::history
