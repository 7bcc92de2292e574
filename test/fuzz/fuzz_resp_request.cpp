// However a stream of requests is split, the parser hears the same commands; and what it heard it
// hears again when write_request says it.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "test/wire/resp_transcript.hpp"

namespace {

using namespace weir::wire;

void require(bool holds) {
  if (!holds) __builtin_trap();
}

void is_heard_alike_in_pieces(RequestLimits limits, std::string_view bytes) {
  RequestParser parser(limits);
  const RequestTranscript whole = hear_requests(parser, {bytes});
  require(!whole.needed_misled);
  require(hear_requests(parser, byte_by_byte(bytes)) == whole);
  for (std::size_t where = 1; where < bytes.size(); ++where) {
    require(hear_requests(parser, split_at(bytes, where)) == whole);
  }
}

void is_heard_again(std::string_view bytes) {
  RequestParser parser;
  const RequestTranscript heard = hear_requests(parser, {bytes});
  std::string written;
  for (const auto& command : heard.commands) {
    write_request(written, Arguments(command.begin(), command.end()));
  }
  const RequestTranscript again = hear_requests(parser, {written});
  require(again.commands == heard.commands && again.left == 0);
}

void is_explained_in_one_printable_line(std::string_view bytes) {
  RequestParser parser;
  Arguments arguments;
  const ParsedRequest parsed = parser.parse(bytes, arguments);
  for (const char byte : parser.explain(parsed)) require(byte >= ' ' && byte <= '~');
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 1024) return 0;  // Splitting at every byte is quadratic.
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  is_heard_alike_in_pieces({}, bytes);
  is_heard_alike_in_pieces(
      {.inline_bytes = 12, .arguments = 3, .argument_bytes = 8, .frame_bytes = 30}, bytes);
  is_heard_again(bytes);
  is_explained_in_one_printable_line(bytes);
  return 0;
}
