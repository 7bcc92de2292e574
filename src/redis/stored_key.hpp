// What a state is called in the store.
#pragma once

#include <string>
#include <string_view>

namespace weir::redis {

/// Whose state: a key (any bytes, may be empty) under a limit's name, or its text.
struct StoredName {
  std::string_view key;
  std::string_view limit;
};

/// weir:{KEY}:LIMIT. All limits of one key lie in one slot of a cluster, so that one request can
/// ask them together. In the key '{', '}' and '%' become %7B, %7D and %25, and an empty one '%',
/// since empty braces would be no hash tag. Different names give different keys.
std::string stored_key(const StoredName& name);

}  // namespace weir::redis
