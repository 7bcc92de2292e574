// Any bytes as a URL: refused with a sentence of one line and a column of the text, or read to a
// URL that prints, its password apart, to a text with the same meaning.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "redis/url.hpp"

namespace {

void require(bool holds) {
  if (!holds) __builtin_trap();
}

bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using weir::redis::Url;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto url = weir::redis::parse_url(text);
  if (!url) {
    require(url.error().column >= 1 && url.error().column <= size + 1);
    require(!url.error().message.empty() && is_plain(url.error().message));
    return 0;
  }
  require(url->nodes.empty() == (url->kind == Url::Kind::unix_socket));
  require(url->nodes.size() <= Url::most_nodes && url->path.size() <= 107 && url->db >= 0);
  require(url->master.empty() == (url->kind != Url::Kind::sentinel));
  Url hidden = *url;
  if (!hidden.password.empty()) hidden.password = "***";
  const std::string printed = print(*url);
  require(is_plain(printed) && printed == print(hidden));
  if (printed.size() > Url::longest_text) return 0;  // escapes are longer than what they stand for
  const auto again = weir::redis::parse_url(printed);
  require(again && *again == hidden);
  return 0;
}
