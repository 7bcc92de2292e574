// A YAML text as a tree that knows its places.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/file_error.hpp"
#include "weir/vocabulary.hpp"

namespace weir::gateway {

/// One node. Aliases are copies of what they stand for.
struct YamlNode {
  enum class Kind : std::uint8_t { null, scalar, list, map };

  Kind kind = Kind::null;
  bool quoted = false;  ///< a scalar that is text whatever it looks like
  Place at{};
  std::string text{};                ///< of a scalar
  std::vector<YamlNode> children{};  ///< of a list; of a map each key and, behind it, its value
};

const char* name(YamlNode::Kind kind) noexcept;

struct YamlLimits {
  std::size_t bytes = std::size_t{16} << 20;
  std::size_t depth = 96;         ///< descriptors take two levels each
  std::size_t nodes = 1'000'000;  ///< those that aliases repeat count each time
};

/// The one document of a text; an empty text is null. A key that stands twice in a map, a key that
/// is no scalar, a second document and more than the limits are errors.
Expected<YamlNode, FileError> read_yaml(std::string_view text, const YamlLimits& limits = {});

}  // namespace weir::gateway
