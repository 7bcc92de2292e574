// Access limits under a time that a test sets.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/http/access_limit.hpp"

namespace weir::http {

inline Keeper kept_under(const ManualTime& time) {
  auto store = std::make_shared<KeyedStore>(Table::Settings{.max_keys = 10'000});
  return kept_in([store = std::move(store), &time](std::string_view limit) {
    return std::make_unique<KeyedLimiter<std::string_view, ManualClock>>(store, limit,
                                                                         ManualClock(time));
  });
}

/// The value of a reply's field; empty where it has none of that name.
inline std::string field(const Reply& reply, std::string_view name) {
  for (const Field& field : reply.fields) {
    if (field.name == name) return field.value;
  }
  return {};
}

}  // namespace weir::http
