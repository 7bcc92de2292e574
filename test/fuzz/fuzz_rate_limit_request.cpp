// Whatever a message says, it is read as libprotobuf reads it, and within the bounds or refused.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "test/server/grpc/protobuf_oracle.hpp"

namespace {

using namespace weir::server::grpc;

void require(bool holds) {
  if (!holds) __builtin_trap();
}

void keeps_to(const RateLimitBounds& bounds, const RateLimitAsk& ask) {
  require(!ask.domain.empty());
  require(!ask.descriptors.empty() && ask.descriptors.size() <= bounds.descriptors);
  require(ask.hits > 0 && ask.hits <= bounds.hits);
  for (const RateLimitDescriptor& descriptor : ask.descriptors) {
    require(descriptor.entries.size() <= bounds.entries);
    require(!descriptor.hits || *descriptor.hits <= bounds.hits);
    if (descriptor.limit) {
      require(descriptor.limit->unit >= RateLimitUnit::second &&
              descriptor.limit->unit <= RateLimitUnit::week);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static RateLimitReader reader;
  const std::string_view message(reinterpret_cast<const char*>(data), size);
  // Of groups in groups libprotobuf counts the messages around them too.
  const bool is_deep = std::ranges::count_if(message, [](char c) { return (c & 7) == 3; }) > 90;
  require(is_deep || weir::test::reads_as_protobuf(reader, message));
  for (const RateLimitBounds& bounds :
       {RateLimitBounds{}, RateLimitBounds{.descriptors = 2, .entries = 1}}) {
    const auto ask = reader.read(message, bounds);
    if (ask) {
      keeps_to(bounds, *ask);
    } else {
      require(!ask.error().message.empty());
    }
  }
  return 0;
}
