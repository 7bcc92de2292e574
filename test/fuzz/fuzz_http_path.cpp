// Any bytes as a request target: its path has one spelling, which spelling it again leaves alone,
// and which escaping more of it does not change.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "weir/http/path.hpp"

namespace {

void require(bool holds) {
  if (!holds) __builtin_trap();
}

/// The same path with its letters and digits escaped, but for those of escapes.
std::string escaped(std::string_view path) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string made;
  for (std::size_t at = 0; at < path.size(); ++at) {
    const char c = path[at];
    if (c == '%') {
      made += path.substr(at, 3);
      at += 2;
    } else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      const auto byte = static_cast<unsigned char>(c);
      made += {'%', digits[byte >> 4], digits[byte & 15]};
    } else {
      made += c;
    }
  }
  return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view target(reinterpret_cast<const char*>(data), size);
  const std::string path = weir::http::path_of(target);
  require(!path.empty() && path.size() <= 3 * size + 1);
  require(path.find_first_of("?#") == std::string::npos);
  if (!path.starts_with('/')) return 0;  // an authority could come to stand in it
  require(weir::http::path_of(path) == path);
  require(weir::http::path_of(escaped(path)) == path);
  return 0;
}
