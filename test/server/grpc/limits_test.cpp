// Each limit of HTTP/2 that a client meets is told of, once, and so is the end of its connection.
#include "test/server/grpc/grpc_fixture.hpp"

namespace weir::test {
namespace {

using namespace server::grpc;

constexpr const char* check = "/grpc.health.v1.Health/Check";
constexpr const char* watching = "/grpc.health.v1.Health/Watch";
constexpr std::uint8_t end_headers = NGHTTP2_FLAG_END_HEADERS;

class GrpcLimits : public GrpcFixture {
 protected:
  void SetUp() override {
    dialogue->receive(std::string(preface) + frame({.type = NGHTTP2_SETTINGS}, "") +
                      frame({NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0}, ""));
    hear();
  }

  void hear() { written(*dialogue); }
  void receive(const std::string& bytes) {
    dialogue->receive(bytes);
    hear();
  }
  void pass(int seconds) {
    for (int second = 0; second < seconds; ++second) dialogue->tick();
    hear();
  }
  static std::string headers(std::int32_t stream, const char* path,
                             std::uint8_t flags = end_headers) {
    return frame({NGHTTP2_HEADERS, flags, stream}, plain_block(call_header(path)));
  }
};

TEST_F(GrpcLimits, OfClientsThatKeepToThemNothingIsTold) {
  for (int call = 0; call < 300; ++call) {
    const std::int32_t stream = 2 * call + 1;
    receive(headers(stream, check) +
            frame({NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, stream}, framed("")));
  }
  receive(frame({.type = NGHTTP2_GOAWAY}, four_bytes(0) + four_bytes(0)));
  EXPECT_TRUE(dialogue->ended());
  EXPECT_EQ(watch.told, "");
}

TEST_F(GrpcLimits, OneCallMoreThanMayBeOpen) {
  for (int call = 0; call < 128; ++call) receive(headers(2 * call + 1, watching));
  EXPECT_EQ(watch.told, "");
  receive(headers(257, watching));
  EXPECT_EQ(watch.told, "streams ends() ");
  EXPECT_EQ(watch.calls, 128);
}

TEST_F(GrpcLimits, HeaderListsThatAreTooLong) {
  HeaderList fields = call_header(check);
  fields.emplace_back("x-long", std::string(16'384, 'x'));
  const std::string block = plain_block(fields);
  receive(frame({.type = NGHTTP2_HEADERS, .stream = 1}, block.substr(0, 10'000)) +
          frame({NGHTTP2_CONTINUATION, end_headers, 1}, block.substr(10'000)));
  EXPECT_EQ(watch.told, "header_list_bytes ") << "the call ends, not the connection";
}

TEST_F(GrpcLimits, HeadersContinuedTooOften) {
  std::string bytes = headers(1, check, 0);
  for (int time = 0; time < 5; ++time) bytes += frame({NGHTTP2_CONTINUATION, 0, 1}, "");
  receive(bytes);
  EXPECT_EQ(watch.told, "continuations ends(continuations) ");
}

TEST_F(GrpcLimits, MessagesThatAreTooLong) {
  receive(headers(1, check) +
          frame({.type = NGHTTP2_DATA, .stream = 1}, std::string("\0\0\x40\0\1", 5)));
  EXPECT_EQ(watch.told, "message_bytes ");
}

/// A framed RateLimitRequest of `length` bytes: domain "e", one empty descriptor, and a field that
/// nobody knows.
std::string request_of(std::size_t length) {
  std::string message(
      "\x0a\x01"
      "e\x12\x00\xf2\x01",
      7);
  std::size_t rest = length - message.size() - 4;
  for (int at = 0; at < 4; ++at, rest >>= 7) {
    message += static_cast<char>((rest & 0x7f) | (at < 3 ? 0x80 : 0));
  }
  message.resize(length, 'x');
  return framed(message);
}

constexpr const char* limiting = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

TEST_F(GrpcLimits, LongMessagesByTurnsAllEnd) {
  // In all 8 MiB, of which the connection's own window takes 256 KiB.
  begin();
  std::vector<std::int32_t> streams;
  for (int call = 0; call < 128; ++call) {
    streams.push_back(client->call(call_header(limiting), request_of(65'536)));
  }
  converse(*client, *dialogue);
  for (const std::int32_t stream : streams) ASSERT_EQ(client->heard(stream).code(), 0) << stream;
  EXPECT_EQ(room.left(), MessageRoom::usual);
}

TEST_F(GrpcLimits, ARoomThatIsFullOpensAgain) {
  room = MessageRoom(std::size_t{300} << 10);
  begin();
  const std::int32_t large =
      client->open(call_header(limiting), request_of(500'000).substr(0, 280'000));
  converse(*client, *dialogue);
  EXPECT_LT(room.left(), std::size_t{30} << 10);
  const std::int32_t waiting = client->call(call_header(limiting), request_of(400'000));
  converse(*client, *dialogue);
  EXPECT_FALSE(client->heard(waiting).ended);
  client->reset(large);
  converse(*client, *dialogue);
  tick(1);
  EXPECT_EQ(client->heard(waiting).code(), 0);
  EXPECT_EQ(room.left(), std::size_t{300} << 10);
}

TEST_F(GrpcLimits, WhatAConnectionWasLentComesBackWithItsEnd) {
  begin();
  client->open(call_header(limiting), request_of(1'000'000).substr(0, 900'000));
  converse(*client, *dialogue);
  EXPECT_EQ(room.left(), MessageRoom::usual - 900'000);
  dialogue.reset();
  EXPECT_EQ(room.left(), MessageRoom::usual);
}

TEST_F(GrpcLimits, CallsBegunAndAbandoned) {
  for (int call = 0; call < 201; ++call) {
    const std::int32_t stream = 2 * call + 1;
    receive(headers(stream, check) +
            frame({.type = NGHTTP2_RST_STREAM, .stream = stream}, four_bytes(NGHTTP2_CANCEL)));
  }
  EXPECT_EQ(watch.told, "resets ends(resets) ");
}

TEST_F(GrpcLimits, FramesWithoutACall) {
  for (int time = 0; time < 1'000; ++time) receive(frame({.type = NGHTTP2_PING}, "12345678"));
  EXPECT_EQ(watch.told, "frames ends(frames) ");
}

TEST_F(GrpcLimits, AClientThatDoesNotGreet) {
  begin();
  pass(5);
  EXPECT_EQ(watch.told, "greeting ends(greeting) ");
}

TEST_F(GrpcLimits, RequestsThatDoNotEnd) {
  receive(headers(1, check));
  pass(10);
  EXPECT_EQ(watch.told, "request ") << "the call ends, not the connection";
  watch.told.clear();
  receive(headers(3, check, 0));
  pass(10);
  EXPECT_EQ(watch.told, "request ends(request) ");
}

TEST_F(GrpcLimits, AnAnswerThatIsNotTaken) {
  begin();
  client->close_window();
  client->call(call_header(check), framed(""));
  converse(*client, *dialogue);
  tick(10);
  EXPECT_EQ(watch.told, "stalled ends(stalled) ");
}

/// Answers nobody.
struct SilentDecider final : RateLimitDecider {
  void decide(const RateLimitAsk&, RateLimitReply) override {}
};

TEST_F(GrpcLimits, ACallThatIsNotAnswered) {
  SilentDecider silent;
  Services served;
  serve_rate_limits_by(served, silent);
  dialogue = std::make_unique<Http2Dialogue>(served, carrier, room, Http2Limits{}, &watch);
  // domain "e", one empty descriptor
  client->call(call_header("/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"),
               framed(std::string("\x0a\x01"
                                  "e\x12\x00",
                                  5)));
  converse(*client, *dialogue);
  tick(60);
  EXPECT_EQ(watch.told, "call ");
  dialogue.reset();
}

TEST_F(GrpcLimits, WhatIsNoHttp2) {
  begin();
  dialogue->receive("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(watch.told, "ends() ");
  watch.told.clear();
  begin();
  SetUp();
  receive(frame({.type = NGHTTP2_DATA, .stream = 9}, "12345678"));
  EXPECT_EQ(watch.told, "ends() ");
}

}  // namespace
}  // namespace weir::test
