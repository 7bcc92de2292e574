#include "weir/local/keyed_hash.hpp"

#include <random>

namespace weir {

HashKey HashKey::random() {
  std::random_device device;
  const auto word = [&] { return std::uint64_t{device()} << 32 | device(); };
  return {word(), word()};
}

}  // namespace weir
