#include "redis/stored_key.hpp"

namespace weir::redis {

std::string stored_key(const StoredName& name) {
  std::string stored = "weir:{";
  if (name.key.empty()) stored += '%';
  for (const char byte : name.key) {
    switch (byte) {
      case '{': stored += "%7B"; break;
      case '}': stored += "%7D"; break;
      case '%': stored += "%25"; break;
      default: stored += byte;
    }
  }
  stored += "}:";
  stored += name.limit;
  return stored;
}

}  // namespace weir::redis
