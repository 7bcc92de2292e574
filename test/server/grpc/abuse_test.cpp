// What a client may do to the server, and what comes of it: the end of its connection, soon and in
// little memory.
#include <gmock/gmock.h>
#include <malloc.h>

#include <optional>

#include "test/server/grpc/grpc_fixture.hpp"

namespace weir::test {
namespace {

using namespace server::grpc;

constexpr std::uint8_t end_headers = NGHTTP2_FLAG_END_HEADERS;
constexpr std::uint8_t end_stream = NGHTTP2_FLAG_END_STREAM;

std::size_t heap_bytes() { return mallinfo2().uordblks; }

class GrpcAbuse : public GrpcFixture {
 protected:
  static constexpr const char* check = "/grpc.health.v1.Health/Check";
  static constexpr const char* watch = "/grpc.health.v1.Health/Watch";

  /// A connection that has greeted.
  void SetUp() override { greet(); }

  void greet(Http2Limits limits = {}) {
    begin(limits);
    dialogue->receive(std::string(preface) + frame({.type = NGHTTP2_SETTINGS}, ""));
    written(*dialogue);
  }

  static std::string headers(std::int32_t stream, const HeaderList& fields,
                             std::uint8_t flags = end_headers) {
    return frame({NGHTTP2_HEADERS, flags, stream}, plain_block(fields));
  }

  static std::string reset(std::int32_t stream) {
    return frame({.type = NGHTTP2_RST_STREAM, .stream = stream}, four_bytes(NGHTTP2_CANCEL));
  }

  /// Says the bytes that `next` makes, again and again; returns after how many times the dialogue
  /// wants no more.
  template <typename Next>
  int times_until_the_end(int most, const Next& next) {
    for (int time = 0; time < most; ++time) {
      dialogue->receive(next(time));
      sent_ += written(*dialogue);
      if (dialogue->ended()) return time + 1;
    }
    return most;
  }

  void expect_calm_down() {
    EXPECT_TRUE(dialogue->ended());
    EXPECT_FALSE(dialogue->wants_input());
    EXPECT_EQ(goaway_of(sent_), NGHTTP2_ENHANCE_YOUR_CALM);
  }

  std::string sent_;
};

TEST_F(GrpcAbuse, CallsBegunAndAbandonedEndTheConnection) {
  const std::size_t before = heap_bytes();
  std::size_t most = 0;
  const int pairs = times_until_the_end(200'000, [&](int time) {
    most = std::max(most, heap_bytes());
    return headers(2 * time + 1, call_header(check)) + reset(2 * time + 1);
  });
  EXPECT_EQ(pairs, 201);
  EXPECT_LT(most, before + 200'000);
  expect_calm_down();
}

TEST_F(GrpcAbuse, CallsAbandonedInOneGoEndItAsSoon) {
  std::string bytes;
  for (int time = 0; time < 200'000; ++time) {
    bytes += headers(2 * time + 1, call_header(watch)) +
             frame({.type = NGHTTP2_DATA, .stream = 2 * time + 1}, framed("")) +
             reset(2 * time + 1);
  }
  const std::size_t before = heap_bytes();
  dialogue->receive(bytes);
  EXPECT_LT(heap_bytes(), before + 200'000);
  sent_ = written(*dialogue);
  expect_calm_down();
  EXPECT_LT(sent_.size(), 2'000U);
}

TEST_F(GrpcAbuse, SlowerResetsAreBorne) {
  int stream = 1;
  for (int second = 0; second < 100; ++second) {
    for (int time = 0; time < 20; ++time, stream += 2) {
      dialogue->receive(headers(stream, call_header(check)) + reset(stream));
    }
    written(*dialogue);
    dialogue->tick();
  }
  EXPECT_FALSE(dialogue->ended());
}

TEST_F(GrpcAbuse, CallsThatTheClientMakesTheServerResetCountAlike) {
  // A window that overflows is an error of its stream: the server resets it.
  const int times = times_until_the_end(200'000, [&](int time) {
    return headers(2 * time + 1, call_header(check)) +
           frame({.type = NGHTTP2_WINDOW_UPDATE, .stream = 2 * time + 1}, four_bytes(0x7fffffff));
  });
  EXPECT_LE(times, 201);
  expect_calm_down();
}

TEST_F(GrpcAbuse, UpperCaseInHeaderNamesResetsTheirCall) {
  HeaderList fields = call_header(check);
  fields.emplace_back("X-Upper", "1");
  dialogue->receive(headers(1, fields, end_headers));
  const std::vector<SentFrame> frames = frames_of(written(*dialogue));
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].head.type, NGHTTP2_RST_STREAM);
  EXPECT_EQ(frames[0].payload, four_bytes(NGHTTP2_PROTOCOL_ERROR));
}

TEST_F(GrpcAbuse, PingsWithoutCallsEndTheConnection) {
  const int times =
      times_until_the_end(100'000, [](int) { return frame({.type = NGHTTP2_PING}, "12345678"); });
  EXPECT_EQ(times, 1'000);  // the client's SETTINGS was the first
  expect_calm_down();
}

TEST_F(GrpcAbuse, PingsThatAreNotAnsweredInTimeTakeLittleMemory) {
  std::string bytes;
  for (int time = 0; time < 100'000; ++time) bytes += frame({.type = NGHTTP2_PING}, "12345678");
  const std::size_t before = heap_bytes();
  dialogue->receive(bytes);
  EXPECT_LT(heap_bytes(), before + 400'000);
  sent_ = written(*dialogue);
  expect_calm_down();
}

TEST_F(GrpcAbuse, SettingsWithoutEndEndTheConnection) {
  const int times =
      times_until_the_end(100'000, [](int) { return frame({.type = NGHTTP2_SETTINGS}, ""); });
  EXPECT_LE(times, 1'000);
  expect_calm_down();
}

TEST_F(GrpcAbuse, ManySettingsInOneFrameEndTheConnection) {
  std::string settings;
  for (int time = 0; time < 1'000; ++time) settings += std::string("\0\4\0\0\xff\xff", 6);
  dialogue->receive(frame({.type = NGHTTP2_SETTINGS}, settings));
  sent_ = written(*dialogue);
  EXPECT_TRUE(dialogue->ended());
  EXPECT_TRUE(goaway_of(sent_).has_value());
}

TEST_F(GrpcAbuse, FramesOfEveryKindThatCarryNothingEndTheConnection) {
  const std::string priority =
      frame({.type = NGHTTP2_PRIORITY, .stream = 3}, four_bytes(0) + std::string(1, '\x10'));
  const std::string update = frame({.type = NGHTTP2_WINDOW_UPDATE}, four_bytes(1));
  for (const std::string& each : {priority, update}) {
    sent_.clear();
    greet();
    EXPECT_LE(times_until_the_end(100'000, [&](int) { return each; }), 1'000);
    expect_calm_down();
  }
  sent_.clear();
  greet();
  dialogue->receive(headers(1, call_header(check)));
  EXPECT_LE(times_until_the_end(
                100'000, [&](int) { return frame({.type = NGHTTP2_DATA, .stream = 1}, ""); }),
            1'001);
  expect_calm_down();
}

TEST_F(GrpcAbuse, FramesOfNoKnownKindArePassedOverUntilThereAreTooMany) {
  constexpr std::uint8_t priority_update = 0x10;
  for (const std::uint8_t type : {std::uint8_t{0x0a}, priority_update, std::uint8_t{0xff}}) {
    greet();
    sent_.clear();
    const std::size_t before = heap_bytes();
    const auto next = [type](int) {
      return frame({.type = type, .stream = 5}, std::string(10'000, '?'));
    };
    EXPECT_EQ(times_until_the_end(999, next), 999);
    EXPECT_FALSE(dialogue->ended());
    EXPECT_EQ(sent_, "");
    EXPECT_LT(heap_bytes(), before + 10'000);
    EXPECT_EQ(times_until_the_end(9, next), 1);
    expect_calm_down();
  }
}

TEST_F(GrpcAbuse, FramesThatCallsNeedAreBorne) {
  int stream = 1;
  for (int call = 0; call < 5'000; ++call, stream += 2) {
    dialogue->receive(headers(stream, call_header(check)) +
                      frame({NGHTTP2_DATA, end_stream, stream}, framed("")) +
                      frame({.type = NGHTTP2_PING}, "12345678") +
                      frame({.type = NGHTTP2_WINDOW_UPDATE}, four_bytes(7)));
    written(*dialogue);
  }
  EXPECT_FALSE(dialogue->ended());
}

TEST_F(GrpcAbuse, HeadersContinuedTooOftenEndTheConnection) {
  std::string bytes = headers(1, call_header(check), 0);
  for (int time = 0; time < 5; ++time) {
    bytes += frame({.type = NGHTTP2_CONTINUATION, .stream = 1}, plain_block({{"x", "y"}}));
  }
  dialogue->receive(bytes);
  sent_ = written(*dialogue);
  expect_calm_down();
}

TEST_F(GrpcAbuse, EmptyContinuationsEndItToo) {
  const std::size_t before = heap_bytes();
  dialogue->receive(headers(1, call_header(check), 0));
  const int times = times_until_the_end(
      100'000, [](int) { return frame({.type = NGHTTP2_CONTINUATION, .stream = 1}, ""); });
  EXPECT_LE(times, 5);
  EXPECT_LT(heap_bytes(), before + 100'000);
}

TEST_F(GrpcAbuse, HeaderListsAboveTheBoundAreRefusedByTheirStatus) {
  HeaderList fields = call_header(check);
  fields.emplace_back("x-long", std::string(12'000, 'x'));
  fields.emplace_back("x-longer", std::string(6'000, 'x'));
  const std::string block = plain_block(fields);
  begin();
  dialogue->receive(std::string(preface) + frame({.type = NGHTTP2_SETTINGS}, "") +
                    frame({NGHTTP2_HEADERS, end_stream, 1}, block.substr(0, 10'000)) +
                    frame({NGHTTP2_CONTINUATION, end_headers, 1}, block.substr(10'000)));
  client->call(call_header(check), "");
  client->said();
  sent_ = written(*dialogue);
  client->hear(sent_);
  EXPECT_EQ(client->heard(1).code(), 8);
  EXPECT_EQ(client->heard(1).field(":status"), "431");
}

TEST_F(GrpcAbuse, HeaderBombsTakeNoMemoryAndNotLong) {
  // One long field goes into the table; then a byte each names it again.
  const std::string field = plain_block({{"x", std::string(4'000, 'x')}});
  std::string into_table = field;
  into_table[0] = '\x40';
  const std::string again(12'000, '\xbe');  // index 62: the newest of the table
  const std::size_t before = heap_bytes();
  const int times = times_until_the_end(100'000, [&](int time) {
    return frame({NGHTTP2_HEADERS, end_headers, 2 * time + 1},
                 plain_block(call_header(check)) + into_table + again) +
           reset(2 * time + 1);
  });
  EXPECT_LE(times, 201);
  EXPECT_LT(heap_bytes(), before + 200'000);
  expect_calm_down();
}

TEST_F(GrpcAbuse, HpackThatIsNoneEndsTheConnection) {
  const std::string bad[] = {
      "\x3f\xff\xff\xff\xff\xff\xff\xff\xff\xff\x0f",  // a table of more than 2^32
      std::string("\x3f\xe1\xff\xff\xff\x0f", 6),      // a table above what was agreed
      "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",      // an index without end
      "\xc0",                                          // an index that is not there
      std::string("\x80", 1),                          // index 0
  };
  for (const std::string& block : bad) {
    greet();
    dialogue->receive(frame({NGHTTP2_HEADERS, end_headers | end_stream, 1}, block));
    EXPECT_EQ(goaway_of(written(*dialogue)), NGHTTP2_COMPRESSION_ERROR);
    EXPECT_TRUE(dialogue->ended());
  }
}

TEST_F(GrpcAbuse, WindowsThatOverflowEndWhatTheyAreOf) {
  dialogue->receive(headers(1, call_header(check)) +
                    frame({.type = NGHTTP2_WINDOW_UPDATE, .stream = 1}, four_bytes(0x7fffffff)));
  const auto frames = frames_of(written(*dialogue));
  ASSERT_FALSE(frames.empty());
  EXPECT_EQ(frames.back().head.type, NGHTTP2_RST_STREAM);
  EXPECT_EQ(frames.back().payload, four_bytes(NGHTTP2_FLOW_CONTROL_ERROR));
  dialogue->receive(frame({.type = NGHTTP2_WINDOW_UPDATE}, four_bytes(0x7fffffff)));
  EXPECT_EQ(goaway_of(written(*dialogue)), NGHTTP2_FLOW_CONTROL_ERROR);
  EXPECT_TRUE(dialogue->ended());
}

TEST_F(GrpcAbuse, AWindowHeldShutIsWaitedForAWhile) {
  begin();
  client->close_window();
  const std::int32_t stream = client->call(call_header(check), framed(""));
  converse(*client, *dialogue);
  EXPECT_EQ(client->heard(stream).field(":status"), "200");
  EXPECT_EQ(client->heard(stream).body, "");
  tick(9);
  EXPECT_FALSE(dialogue->ended());
  tick(1);
  EXPECT_TRUE(dialogue->ended());
  EXPECT_EQ(client->goaway(), NGHTTP2_ENHANCE_YOUR_CALM);
}

TEST_F(GrpcAbuse, AStreamIsNotItsOwnParent) {
  const std::string of_itself = four_bytes(1) + std::string(1, '\x10');
  dialogue->receive(frame({.type = NGHTTP2_PRIORITY, .stream = 1}, of_itself));
  EXPECT_EQ(written(*dialogue), "");  // priorities are not kept
  const std::uint8_t flags = end_headers | end_stream | NGHTTP2_FLAG_PRIORITY;
  dialogue->receive(
      frame({NGHTTP2_HEADERS, flags, 1}, of_itself + plain_block(call_header(check))));
  EXPECT_EQ(goaway_of(written(*dialogue)), NGHTTP2_PROTOCOL_ERROR);
  EXPECT_TRUE(dialogue->ended());
}

TEST_F(GrpcAbuse, AHeaderThatNeverEndsIsCutOff) {
  dialogue->receive(headers(1, call_header(check), 0));
  for (int second = 0; second < 10; ++second) dialogue->tick();
  sent_ = written(*dialogue);
  expect_calm_down();
}

TEST_F(GrpcAbuse, WhoNeverGreetsIsCutOff) {
  begin();
  dialogue->receive(preface.substr(0, 5));
  for (int second = 0; second < 5; ++second) dialogue->tick();
  sent_ = written(*dialogue);
  expect_calm_down();
}

TEST_F(GrpcAbuse, WhoSpeaksNoHttp2IsLeft) {
  begin();
  dialogue->receive("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(dialogue->ended());
  EXPECT_FALSE(dialogue->wants_input());
}

TEST_F(GrpcAbuse, MessagesThatDoNotEndTakeNoMoreThanTheConnectionsWindowAndTheRoom) {
  room = MessageRoom(500'000);
  greet();
  const std::size_t before = heap_bytes();
  std::string payload = std::string("\0\0\1\0\0", 5) + std::string(15'000, 'x');
  for (int call = 0; call < 128; ++call) {
    dialogue->receive(headers(2 * call + 1, call_header(check)) +
                      frame({.type = NGHTTP2_DATA, .stream = 2 * call + 1}, payload));
    sent_ += written(*dialogue);
    if (dialogue->ended()) break;
  }
  EXPECT_LT(heap_bytes(), before + 1'000'000);
  EXPECT_LT(room.left(), 15'005U);
  EXPECT_EQ(goaway_of(sent_), NGHTTP2_FLOW_CONTROL_ERROR);
}

TEST_F(GrpcAbuse, InformationThatAServerNeverHearsEndsTheConnection) {
  for (const FrameHead head :
       {FrameHead{.type = NGHTTP2_PUSH_PROMISE, .stream = 1},
        FrameHead{.type = NGHTTP2_DATA, .stream = 0}, FrameHead{.type = NGHTTP2_DATA, .stream = 9},
        FrameHead{.type = NGHTTP2_HEADERS, .stream = 2},
        FrameHead{.type = NGHTTP2_RST_STREAM, .stream = 9},
        FrameHead{.type = NGHTTP2_CONTINUATION, .stream = 1}}) {
    greet();
    dialogue->receive(frame(head, "12345678"));
    sent_ = written(*dialogue);
    EXPECT_TRUE(goaway_of(sent_).has_value()) << int(head.type) << " on " << head.stream;
    EXPECT_TRUE(dialogue->ended());
  }
}

TEST_F(GrpcAbuse, FramesAboveTheirBoundEndTheConnection) {
  dialogue->receive(frame({.type = NGHTTP2_DATA, .stream = 1}, std::string(16'385, 'x')));
  EXPECT_EQ(goaway_of(written(*dialogue)), NGHTTP2_FRAME_SIZE_ERROR);
  EXPECT_TRUE(dialogue->ended());
}

}  // namespace
}  // namespace weir::test
