#include "gateway/route.hpp"

#include <algorithm>

#include "limit/characters.hpp"
#include "weir/http/path.hpp"

namespace weir::gateway {

std::string route_of(std::string_view target) {
  const std::string path = http::path_of(target);
  std::string route;
  route.reserve(path.size() + 1);
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view segment = std::string_view(path).substr(at, end - at);
    at = end + 1;
    if (segment == "..") {
      const std::size_t parent = route.find_last_of('/');
      route.resize(parent == std::string::npos ? 0 : parent);
    } else if (!segment.empty() && segment != ".") {
      route += '/';
      route += segment;
    }
  }
  const bool folder = path.ends_with('/') || path.ends_with("/.") || path.ends_with("/..");
  if (route.empty() || folder) route += '/';
  return route;
}

std::string_view host_of(std::string_view said, std::string& scratch) {
  const std::size_t colon = said.rfind(':');
  // An IPv6 address has colons of its own, and brackets where a port follows.
  const bool before_port =
      colon != said.npos && (said.find(':') == colon || said[colon - 1] == ']');
  if (before_port && std::ranges::all_of(said.substr(colon + 1), is_digit)) {
    said = said.substr(0, colon);
  }
  if (said.ends_with('.')) said.remove_suffix(1);
  if (std::ranges::none_of(said, [](char c) { return c != small(c); })) return said;
  scratch = in_lower_case(said);
  return scratch;
}

}  // namespace weir::gateway
