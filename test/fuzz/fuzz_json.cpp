// A text that is refused is explained in one printable line; one that is taken is JSON of at most
// sixteen levels, also when it is written again.
#include <boost/json/serialize.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/http/json.hpp"

namespace {

using weir::server::JsonText;

void require(bool holds) {
  if (!holds) __builtin_trap();
}

int depth(const boost::json::value& value) {
  int below = 0;
  if (const auto* array = value.if_array()) {
    for (const auto& element : *array) below = std::max(below, depth(element));
  } else if (const auto* object = value.if_object()) {
    for (const auto& member : *object) below = std::max(below, depth(member.value()));
  } else {
    return 0;
  }
  return below + 1;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 4096) return 0;
  JsonText text;
  if (const auto error = text.read({reinterpret_cast<const char*>(data), size})) {
    require(!error->message.empty());
    for (const char c : error->message) require(c >= ' ' && c <= '~');
    return 0;
  }
  require(depth(text.value()) <= 16);
  JsonText again;
  require(!again.read(boost::json::serialize(text.value())));
  require(depth(again.value()) == depth(text.value()));
  return 0;
}
