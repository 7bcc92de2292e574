#include "weir/http/path.hpp"

#include <algorithm>

namespace weir::http {
namespace {

constexpr std::string_view digits = "0123456789ABCDEF";

bool is_letter_or_digit(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// Of RFC 3986, 2.3: an escape of these means nothing but the character.
bool unreserved(char c) noexcept {
  return is_letter_or_digit(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

/// Below 0 where it is no digit.
int digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Of absolute-form, what stands behind the authority.
std::string_view without_authority(std::string_view target) noexcept {
  if (target.starts_with('/')) return target;
  const std::size_t scheme = target.find("://");
  if (scheme == std::string_view::npos) return target;
  const std::size_t path = target.find('/', scheme + 3);
  return path == std::string_view::npos ? std::string_view{} : target.substr(path);
}

}  // namespace

std::string path_of(std::string_view target) {
  const std::string_view path = without_authority(target.substr(0, target.find_first_of("?#")));
  std::string spelled;
  spelled.reserve(std::max<std::size_t>(path.size(), 1));
  for (std::size_t at = 0; at < path.size(); ++at) {
    const int high = path[at] == '%' && at + 2 < path.size() ? digit(path[at + 1]) : -1;
    const int low = high >= 0 ? digit(path[at + 2]) : -1;
    if (low < 0) {
      spelled += path[at];
      if (path[at] == '%') spelled += "25";
      continue;
    }
    const char meant = static_cast<char>(high * 16 + low);
    if (unreserved(meant)) {
      spelled += meant;
    } else {
      spelled +=
          {'%', digits[static_cast<std::size_t>(high)], digits[static_cast<std::size_t>(low)]};
    }
    at += 2;
  }
  if (spelled.empty()) spelled = "/";
  return spelled;
}

}  // namespace weir::http
