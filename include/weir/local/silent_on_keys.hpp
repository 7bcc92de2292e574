// Who hears of a keyed limiter's decisions.
#pragma once

#include "weir/local/outcome.hpp"

namespace weir {

/// Hears of every decision of a keyed limiter: listener(key, cost, outcome), in the caller's thread
/// and outside any lock. This one hears nothing and costs nothing.
struct SilentOnKeys {
  template <typename Key>
  void operator()(const Key&, Cost, const Outcome&) const noexcept {}
};

}  // namespace weir
