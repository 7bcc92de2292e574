// What a key was granted, counted against the promise.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "weir/limit.hpp"

namespace weir {

/// The grants of one key, in any order.
class Admitted {
 public:
  void add(Instant acts_at, Cost cost) { grants_.push_back({acts_at, cost}); }
  void add(const Admitted& other) {
    grants_.insert(grants_.end(), other.grants_.begin(), other.grants_.end());
  }

  std::size_t count() const { return grants_.size(); }
  Cost units() const {
    Cost sum = 0;
    for (const auto& grant : grants_) sum += grant.second;
    return sum;
  }

  /// The most that any window held above the bound; 0 or less where the promise was kept.
  Cost above(const Limit::Machine::Config& config) {
    using Machine = Limit::Machine;
    std::sort(grants_.begin(), grants_.end());
    Cost largest = 1;
    for (const auto& grant : grants_) largest = std::max(largest, grant.second);
    Cost worst = 0;
    for (std::size_t first = 0; first < grants_.size(); ++first) {
      Cost sum = 0;
      for (std::size_t last = first; last < grants_.size(); ++last) {
        sum += grants_[last].second;
        const Span length = grants_[last].first - grants_[first].first + Span{1};
        worst = std::max(worst, sum - Machine::bound(config, length, largest));
      }
    }
    return worst;
  }

 private:
  std::vector<std::pair<Instant, Cost>> grants_;
};

}  // namespace weir
