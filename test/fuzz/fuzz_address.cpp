// Any bytes as an address: refused with a sentence of one line, or read to an address that prints
// to a text with the same meaning.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "server/address.hpp"

namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::cerr << "broken: " << what << '\n';
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using weir::server::Address;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto address = weir::server::read_address(text);
  if (!address) {
    const std::string& why = address.error().message;
    require(!why.empty() && why.size() < 400, "the error's length");
    require(std::ranges::all_of(why, [](char c) { return c >= ' ' && c <= '~'; }), "one line");
    return 0;
  }
  const bool local = address->kind == Address::Kind::unix_socket;
  require(address->host.empty() == local && address->path.empty() != local, "a host or a path");
  require(address->path.size() <= 107, "the path fits");
  const std::string printed = print(*address);
  const auto again = weir::server::read_address(printed);
  require(again && *again == *address, "the printed text is the same address");
  require(print(*again) == printed, "and prints the same");
  return 0;
}
