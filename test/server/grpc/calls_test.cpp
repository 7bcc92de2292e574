// What becomes of a call: well asked, badly asked, abandoned, answered late.
#include <gmock/gmock.h>

#include <grpc/health/v1/health.pb.h>

#include <optional>
#include <utility>

#include "test/server/grpc/grpc_fixture.hpp"

namespace weir::test {
namespace {

using namespace server::grpc;
using ::grpc::health::v1::HealthCheckResponse;
using testing::SizeIs;

/// Adds a method that keeps its replies until the test answers them.
class GrpcCalls : public GrpcFixture {
 protected:
  static constexpr const char* check = "/grpc.health.v1.Health/Check";
  static constexpr const char* later = "/test.Later/Unary";

  GrpcCalls() {
    services.add(later, Unary([this](std::string_view message, Reply reply) {
                   asked_.emplace_back(message, std::move(reply));
                 }));
  }

  static HealthCheckResponse answer() {
    HealthCheckResponse response;
    response.set_status(HealthCheckResponse::SERVING);
    return response;
  }

  std::vector<std::pair<std::string, Reply>> asked_;
};

TEST_F(GrpcCalls, AreAnsweredByMessageAndTrailers) {
  const Heard& heard = ask(call_header(check), framed(""));
  EXPECT_EQ(heard.field(":status"), "200");
  EXPECT_EQ(heard.field("content-type"), "application/grpc");
  EXPECT_EQ(heard.trailer.at("grpc-status"), "0");
  ASSERT_THAT(heard.messages(), SizeIs(1));
  EXPECT_EQ(heard.messages()[0], answer().SerializeAsString());
  EXPECT_TRUE(heard.ended);
  EXPECT_EQ(heard.closed_by, NGHTTP2_NO_ERROR);
}

TEST_F(GrpcCalls, AreAnsweredAlikeHoweverTheirBytesAreCut) {
  client->call(call_header(check, {{"grpc-timeout", "1S"}}), framed(""));
  const std::string bytes = client->said();
  dialogue->receive(bytes);
  const std::string whole = written(*dialogue);
  for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
    begin();
    dialogue->receive(std::string_view(bytes).substr(0, cut));
    std::string all = written(*dialogue);
    dialogue->receive(std::string_view(bytes).substr(cut));
    all += written(*dialogue);
    // The server's SETTINGS and its acknowledgement may change places with nothing else.
    ASSERT_EQ(all.size(), whole.size()) << cut;
    client->hear(all);
  }
  begin();
  for (const char byte : bytes) dialogue->receive({&byte, 1});
  EXPECT_EQ(written(*dialogue), whole);
}

TEST_F(GrpcCalls, AreWrittenAlikeHoweverLittleIsTaken) {
  client->call(call_header(check), framed(""));
  dialogue->receive(client->said());
  std::string all;
  for (std::string some; dialogue->write(some, 1), !some.empty(); some.clear()) all += some;
  client->hear(all);
  EXPECT_EQ(client->heard(1).code(), 0);
}

TEST_F(GrpcCalls, NeedNoTe) {
  HeaderList header = call_header(check);
  std::erase_if(header, [](const auto& field) { return field.first == "te"; });
  EXPECT_EQ(ask(header, framed("")).code(), 0);
}

TEST_F(GrpcCalls, OfNoMethodAreUnimplemented) {
  const Heard& heard = ask(call_header("/no.Such/Method%"), framed(""));
  EXPECT_EQ(heard.code(), 12);
  EXPECT_EQ(heard.field(":status"), "200");
  EXPECT_EQ(heard.message(), "no such method: /no.Such/Method%25");
}

TEST_F(GrpcCalls, OfAnotherContentTypeAreRefusedAsHttpDoes) {
  for (const char* type : {"application/json", "application/grpc+json", "text/plain", ""}) {
    HeaderList header = call_header(check);
    header.back().second = type;
    const Heard& heard = ask(header, framed(""));
    EXPECT_EQ(heard.field(":status"), "415") << type;
    EXPECT_EQ(heard.code(), 3);
  }
  HeaderList header = call_header(check);
  header[0].second = "GET";
  EXPECT_EQ(ask(header, "").field(":status"), "405");
}

TEST_F(GrpcCalls, WithoutTimeLeftAreNotMade) {
  EXPECT_EQ(ask(call_header(later, {{"grpc-timeout", "0n"}}), framed("")).code(), 4);
  EXPECT_THAT(asked_, SizeIs(0));
  EXPECT_EQ(ask(call_header(later, {{"grpc-timeout", "-1S"}}), framed("")).code(), 13);
  EXPECT_EQ(ask(call_header(check, {{"grpc-timeout", "99999999H"}}), framed("")).code(), 0);
}

TEST_F(GrpcCalls, SayHowLongTheyAreAwaited) {
  ask(call_header(later, {{"grpc-timeout", "1500m"}}), framed(""));
  ask(call_header(later, {{"grpc-timeout", "2H"}}), framed(""));
  ask(call_header(later), framed(""));
  ASSERT_THAT(asked_, SizeIs(3));
  EXPECT_EQ(asked_[0].second.awaited(), std::chrono::milliseconds(1500));
  EXPECT_EQ(asked_[1].second.awaited(), std::chrono::seconds(60)) << "as the connection does";
  EXPECT_EQ(asked_[2].second.awaited(), std::chrono::seconds(60));
}

TEST_F(GrpcCalls, EndWhenTheirTimeIsOver) {
  const std::int32_t soon =
      client->call(call_header(later, {{"grpc-timeout", "1500m"}}), framed(""));
  const std::int32_t some_day = client->call(call_header(later), framed(""));
  converse(*client, *dialogue);
  ASSERT_THAT(asked_, SizeIs(2));
  tick(2);
  EXPECT_FALSE(client->heard(soon).ended);
  tick(1);
  EXPECT_EQ(client->heard(soon).code(), 4);
  tick(57);
  EXPECT_EQ(client->heard(some_day).code(), 4);
  asked_[0].second.finish();  // both are gone
  asked_[1].second.finish();
  EXPECT_EQ(ask(call_header(check), framed("")).code(), 0);
}

TEST_F(GrpcCalls, HaveExactlyOneMessage) {
  EXPECT_EQ(ask(call_header(check), "").code(), 13);
  EXPECT_EQ(ask(call_header(check), framed("") + framed("")).message(),
            "more than one message in a unary call");
  EXPECT_EQ(ask(call_header(check), framed("") + "x").code(), 13);
  const std::string torn = framed("four");
  for (std::size_t size = 1; size < torn.size(); ++size) {
    EXPECT_EQ(ask(call_header(later), torn.substr(0, size)).message(),
              "the message ends before its length");
  }
  EXPECT_THAT(asked_, SizeIs(0));
}

TEST_F(GrpcCalls, WithCompressedMessagesSayWhatIsUnderstood) {
  EXPECT_EQ(ask(call_header(check), framed("", 1)).code(), 13);
  EXPECT_EQ(ask(call_header(check, {{"grpc-encoding", "identity"}}), framed("", 1)).code(), 13);
  const Heard& heard = ask(call_header(check, {{"grpc-encoding", "gzip"}}), framed("", 1));
  EXPECT_EQ(heard.code(), 12);
  EXPECT_EQ(heard.field("grpc-accept-encoding"), "identity");
  EXPECT_EQ(ask(call_header(check, {{"grpc-encoding", "gzip"}}), framed("")).code(), 0);
  EXPECT_EQ(ask(call_header(check), framed("", 2)).code(), 13);
}

TEST_F(GrpcCalls, TakeMessagesUpToTheBoundAndNotAByteMore) {
  const std::string longest(std::size_t{4} << 20, 'x');
  const std::int32_t fits = client->call(call_header(later), framed(longest));
  converse(*client, *dialogue);
  ASSERT_THAT(asked_, SizeIs(1));
  EXPECT_EQ(asked_[0].first, longest);
  asked_[0].second.finish({Code::cancelled, ""});
  converse(*client, *dialogue);
  EXPECT_EQ(client->heard(fits).code(), 1);
  const Heard& above = ask(call_header(later), framed(longest + "x"));
  EXPECT_EQ(above.code(), 8);
  EXPECT_EQ(above.message(), "a message of 4194305 bytes; expected 4194304 at most");
  const Heard& absurd = ask(call_header(later), std::string("\0\xff\xff\xff\xff", 5));
  EXPECT_EQ(absurd.code(), 8);
  EXPECT_THAT(asked_, SizeIs(1));
}

TEST_F(GrpcCalls, OpenTheWindowOfTheConnectionAgain) {
  // More in all than the connection's window: it would stick if heard messages did not count.
  const std::string large(std::size_t{60} << 10, 'x');
  for (int call = 0; call < 50; ++call) {
    const std::int32_t stream = client->call(call_header(later), framed(large));
    converse(*client, *dialogue);
    ASSERT_THAT(asked_, SizeIs(1)) << call;
    // What is refused, torn or abandoned counts too.
    client->call(call_header(check), framed(large) + "x");
    client->call(call_header("/no.Such/Method"), framed(large));
    const std::int32_t abandoned = client->open(call_header(later), framed(large).substr(0, 99));
    converse(*client, *dialogue);
    client->reset(abandoned);
    asked_[0].second.finish({Code::unknown, "done"});
    asked_.clear();
    converse(*client, *dialogue);
    ASSERT_EQ(client->heard(stream).message(), "done");
  }
}

TEST_F(GrpcCalls, AreAnsweredLaterThroughTheCarrier) {
  const std::int32_t stream = client->call(call_header(later), framed("a"));
  converse(*client, *dialogue);
  ASSERT_THAT(asked_, SizeIs(1));
  const int before = carrier->resumed;
  asked_[0].second.post([](const Reply& reply) {
    reply.send(answer());
    reply.finish();
  });
  EXPECT_FALSE(client->heard(stream).ended);
  ASSERT_THAT(carrier->posted, SizeIs(1));
  carrier->run_posted();
  EXPECT_GT(carrier->resumed, before);  // it has something to write
  converse(*client, *dialogue);
  EXPECT_EQ(client->heard(stream).code(), 0);
  EXPECT_THAT(client->heard(stream).messages(), SizeIs(1));
}

TEST_F(GrpcCalls, AreAnsweredOnce) {
  const std::int32_t stream = client->call(call_header(later), framed("a"));
  converse(*client, *dialogue);
  for (int time = 0; time < 3; ++time) {
    asked_[0].second.send(answer());
    asked_[0].second.finish();
  }
  converse(*client, *dialogue);
  asked_[0].second.send(answer());
  asked_[0].second.finish({Code::internal, "late"});
  converse(*client, *dialogue);
  EXPECT_EQ(client->heard(stream).code(), 0);
  EXPECT_THAT(client->heard(stream).messages(), SizeIs(1));
}

TEST_F(GrpcCalls, ThatAreGoneSwallowTheirAnswers) {
  const std::int32_t stream = client->call(call_header(later), framed("a"));
  converse(*client, *dialogue);
  client->reset(stream);
  converse(*client, *dialogue);
  asked_[0].second.send(answer());
  asked_[0].second.finish();
  EXPECT_EQ(written(*dialogue), "");
  // A call that takes the gone one's memory hears nothing of it.
  const std::int32_t next = client->call(call_header(later), framed("b"));
  converse(*client, *dialogue);
  asked_[0].second.finish({Code::internal, "of another"});
  converse(*client, *dialogue);
  EXPECT_FALSE(client->heard(next).ended);
  dialogue.reset();
  asked_[1].second.send(answer());
  asked_[1].second.finish();
}

TEST_F(GrpcCalls, MayBeAbandonedAtEveryStage) {
  const std::string message = framed("four");
  const HeaderList header = call_header(later);
  for (std::size_t size = 0; size <= message.size(); ++size) {
    const std::int32_t stream = client->open(header, message.substr(0, size));
    converse(*client, *dialogue);
    client->reset(stream);
    converse(*client, *dialogue);
  }
  const std::int32_t whole = client->call(header, message);
  converse(*client, *dialogue);
  asked_.back().second.send(answer());
  client->reset(whole);
  converse(*client, *dialogue);
  asked_.back().second.finish();
  EXPECT_EQ(ask(call_header(check), framed("")).code(), 0);
  EXPECT_EQ(client->goaway(), std::nullopt);
}

TEST_F(GrpcCalls, RefusedEarlyAreNotHeardToTheirEnd) {
  const std::int32_t stream = client->open(call_header("/no.Such/Method"), framed("a"));
  converse(*client, *dialogue);
  EXPECT_EQ(client->heard(stream).code(), 12);
  EXPECT_EQ(client->heard(stream).closed_by, NGHTTP2_NO_ERROR);  // and reset, but as no error
}

TEST_F(GrpcCalls, ThatNeverEndAreCutOff) {
  const std::int32_t stream = client->open(call_header(check), framed("").substr(0, 3));
  converse(*client, *dialogue);
  tick(9);
  EXPECT_FALSE(client->heard(stream).ended);
  tick(1);
  EXPECT_EQ(client->heard(stream).code(), 4);
  EXPECT_EQ(client->goaway(), std::nullopt);
}

TEST_F(GrpcCalls, MayHaveTrailersOfTheClient) {
  const std::string call = plain_block(call_header(check));
  dialogue->receive(std::string(preface) + frame({.type = NGHTTP2_SETTINGS}, "") +
                    frame({NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1}, call) +
                    frame({NGHTTP2_DATA, 0, 1}, framed("")) +
                    frame({NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 1},
                          plain_block({{"x-more", "1"}, {"grpc-timeout", "bad"}})));
  client->call(call_header(check), "");
  client->said();
  client->hear(written(*dialogue));
  EXPECT_EQ(client->heard(1).code(), 0);
}

TEST_F(GrpcCalls, BeyondTheBoundAreRefused) {
  client->hear(written(*dialogue));  // it knows the bound now
  for (int call = 0; call < 200; ++call) client->call(call_header(later), framed("a"));
  converse(*client, *dialogue);
  EXPECT_THAT(asked_, SizeIs(128));  // the others wait in the client
  for (auto& [message, reply] : asked_) reply.finish({Code::unknown, "done"});
  converse(*client, *dialogue);
  EXPECT_THAT(asked_, SizeIs(200));
}

TEST_F(GrpcCalls, OfARudeClientBeyondTheBoundAreRefused) {
  std::string bytes = std::string(preface) + frame({.type = NGHTTP2_SETTINGS}, "");
  for (int call = 0; call < 129; ++call) {
    bytes += frame({NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 2 * call + 1},
                   plain_block(call_header(later)));
  }
  dialogue->receive(bytes);
  const std::vector<SentFrame> sent = frames_of(written(*dialogue));
  EXPECT_EQ(sent.back().head.type, NGHTTP2_RST_STREAM);
  EXPECT_EQ(sent.back().head.stream, 257);
  EXPECT_EQ(sent.back().payload, four_bytes(NGHTTP2_REFUSED_STREAM));
}

// ---- Draining ----

TEST_F(GrpcCalls, SentBeforeTheClientHeardOfTheEndAreAnswered) {
  const std::int32_t before = client->call(call_header(later), framed("a"));
  converse(*client, *dialogue);
  dialogue->drain();
  // Sent while the notice is under way.
  const std::int32_t meanwhile = client->call(call_header(later), framed("b"));
  dialogue->receive(client->said());
  converse(*client, *dialogue);
  ASSERT_THAT(asked_, SizeIs(2));
  EXPECT_EQ(client->goaway(), NGHTTP2_NO_ERROR);
  EXPECT_EQ(client->goaway_streams(), (std::vector<std::int32_t>{0x7fffffff, meanwhile}));
  EXPECT_FALSE(dialogue->ended());
  for (auto& [message, reply] : asked_) {
    reply.send(answer());
    reply.finish();
  }
  converse(*client, *dialogue);
  EXPECT_EQ(client->heard(before).code(), 0);
  EXPECT_EQ(client->heard(meanwhile).code(), 0);
  EXPECT_TRUE(dialogue->ended());
}

TEST_F(GrpcCalls, OfAClientThatDoesNotHearOfTheEndAreTurnedAwayInTime) {
  converse(*client, *dialogue);
  dialogue->drain();
  dialogue->drain();
  written(*dialogue);
  EXPECT_FALSE(dialogue->ended());
  dialogue->tick();
  dialogue->tick();
  EXPECT_EQ(goaway_of(written(*dialogue)), NGHTTP2_NO_ERROR);
  EXPECT_TRUE(dialogue->ended());
}

TEST_F(GrpcCalls, LetAnIdleConnectionGoAfterAWhile) {
  ask(call_header(check), framed(""));
  tick(299);
  EXPECT_EQ(client->goaway(), std::nullopt);
  tick(2);
  EXPECT_EQ(client->goaway(), NGHTTP2_NO_ERROR);
  EXPECT_TRUE(dialogue->ended());
}

TEST_F(GrpcCalls, ThatAreAnsweredBetweenTwoTicksAreNoIdleness) {
  for (int second = 0; second < 1'000; ++second) {
    ASSERT_EQ(ask(call_header(check), framed("")).code(), 0);
    tick(1);
  }
  EXPECT_EQ(client->goaway(), std::nullopt);
}

TEST_F(GrpcCalls, EndWithAClientThatSaysGoodbye) {
  converse(*client, *dialogue);
  dialogue->receive(frame({.type = NGHTTP2_GOAWAY}, four_bytes(0) + four_bytes(0)));
  written(*dialogue);
  EXPECT_TRUE(dialogue->ended());
}

}  // namespace
}  // namespace weir::test
