// What the codecs allocate, counted by this executable's own operator new.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>

#include "wire/resp_reader.hpp"
#include "wire/resp_reply.hpp"
#include "wire/resp_request.hpp"

namespace {
std::atomic<std::size_t> bytes_allocated = 0;
}

// Every other form of new and delete ends in these. Inlined, they would look mismatched to gcc.
[[gnu::noinline]] void* operator new(std::size_t size) {
  bytes_allocated += size;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace weir::wire {
namespace {

template <typename Work>
std::size_t allocated_by(Work work) {
  const std::size_t before = bytes_allocated;
  work();
  return bytes_allocated - before;
}

TEST(RespMemory, AWarmParserAllocatesNothing) {
  RequestParser parser;
  Arguments arguments;
  std::string frame;
  write_request(frame, {"CL.THROTTLE", "key:123456", "15", "30", "60"});
  const std::string line = "CL.THROTTLE \"a key that is too long for a short string\" 15 30 60\r\n";
  const auto parse_all = [&] {
    EXPECT_EQ(parser.parse(line, arguments).consumed, line.size());
    EXPECT_EQ(parser.parse(frame, arguments).consumed, frame.size());
    EXPECT_EQ(parser.parse(frame.substr(0, 10), arguments).consumed, 0u);
    EXPECT_EQ(parser.parse("*1\r\n:", arguments).status, RequestStatus::malformed);
  };
  EXPECT_GT(allocated_by(parse_all), 0u);
  EXPECT_EQ(allocated_by(parse_all), 0u);
}

TEST(RespMemory, AWriterWithRoomAllocatesNothing) {
  std::string out;
  out.reserve(1024);
  EXPECT_EQ(allocated_by([&] {
              ReplyWriter writer(out, Protocol::resp3);
              writer.map(1);
              writer.bulk("remaining");
              writer.integer(INT64_MIN);
              writer.error("ERR a text that is too long for a short string\r\n");
            }),
            0u);
}

TEST(RespMemory, AHostileLengthAllocatesNothingAheadOfItsBytes) {
  // Of what each stream announces, nothing more ever comes.
  std::string nested;
  for (int i = 0; i != 16; ++i) nested += "*4000\r\n";
  for (const std::string& bytes :
       {std::string("$1048576\r\n"), std::string("=1048576\r\ntxt:"), std::string("*65536\r\n"),
        std::string("%32768\r\n"), std::string("|32768\r\n"), nested}) {
    ReplyReader reader;
    Reply reply;
    EXPECT_LT(allocated_by([&] {
                EXPECT_EQ(reader.read(bytes, reply).status, ReadStatus::incomplete) << bytes;
              }),
              16384u)
        << bytes;
  }
}

TEST(RespMemory, AReplyTakesMemoryInProportionToItsBytes) {
  std::string bytes = "*65536\r\n";
  for (int i = 0; i != 65536; ++i) bytes += "_\r\n";
  ReplyReader reader;
  Reply reply;
  // A vector that doubles allocates, over its life, four times what it holds at the end, at most.
  EXPECT_LT(allocated_by([&] { (void)reader.read(bytes, reply); }), sizeof(Reply) * 4 * 65536);
}

}  // namespace
}  // namespace weir::wire
