// However a stream of replies is split, the reader reads the same replies; and what it read it
// reads again when a ReplyWriter writes it, in both dialects.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "test/wire/resp_transcript.hpp"

namespace {

using namespace weir::wire;

void require(bool holds) {
  if (!holds) __builtin_trap();
}

void is_read_alike_in_pieces(ReplyLimits limits, std::string_view bytes) {
  const ReplyReader reader(limits);
  const ReplyTranscript whole = hear_replies(reader, {bytes});
  require(hear_replies(reader, byte_by_byte(bytes)) == whole);
  for (std::size_t where = 1; where < bytes.size(); ++where) {
    require(hear_replies(reader, split_at(bytes, where)) == whole);
  }
}

void is_read_again(const Reply& reply) {
  for (const Protocol protocol : {Protocol::resp2, Protocol::resp3}) {
    std::string bytes;
    ReplyWriter writer(bytes, protocol);
    write_reply(writer, reply);
    const ReplyTranscript again = hear_replies(ReplyReader(), {bytes});
    require(again.status == ReadStatus::complete && again.replies.size() == 1);
    require(same(again.replies.front(), as_spoken(reply, protocol)));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 1024) return 0;  // Splitting at every byte is quadratic.
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  is_read_alike_in_pieces({}, bytes);
  is_read_alike_in_pieces(
      {.depth = 2, .elements = 6, .line_bytes = 8, .bulk_bytes = 8, .reply_bytes = 40}, bytes);
  for (const Reply& reply : hear_replies(ReplyReader(), {bytes}).replies) {
    if (can_be_written(reply)) is_read_again(reply);
  }
  return 0;
}
