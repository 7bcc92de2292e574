// Any reply to a script is read, or turned down with a reason.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "redis/script_reply.hpp"

namespace {

void require(bool fact) {
  if (!fact) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weir;
  using namespace weir::redis;
  if (size < 2) return 0;
  const std::vector<ToldKey> keys(1 + data[0] % 3, {.cost = 1, .terms = 1 + data[1] % 3u});
  StoreReply reply{CallOutcome::answered, StoreReply::Kind::integers, {}, {}};
  for (std::size_t at = 2; at + 8 <= size; at += 8) {
    std::int64_t number = 0;
    std::memcpy(&number, data + at, sizeof number);
    reply.integers.push_back(number);
  }
  const auto told = read_told(reply, keys);
  if (!told) {
    require(told.error().kind == TroubleKind::garbled);
  } else {
    require(told->binding < keys.size());
    require(told->grants.size() == (taken(told->decision.verdict) ? keys.size() : 0));
    for (const Grant& grant : told->grants) require(!told_marks(grant, keys[0].terms).empty());
  }
  require(read_number(reply).has_value() == (reply.integers.size() == 1 && reply.integers[0] >= 0 &&
                                             reply.integers[0] <= std::int64_t{1} << 53));
  return 0;
}
