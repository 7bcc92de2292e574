// Envoy's rate limit service: what is read of a request, what is refused, what an answer says.
#include <envoy/service/ratelimit/v3/rls.pb.h>
#include <gmock/gmock.h>

#include <limits>
#include <random>
#include <utility>

#include "test/server/grpc/grpc_fixture.hpp"
#include "test/server/grpc/protobuf_oracle.hpp"

namespace weir::test {
namespace {

using namespace server::grpc;
using namespace std::chrono_literals;
using envoy::service::ratelimit::v3::RateLimitRequest;
using envoy::service::ratelimit::v3::RateLimitResponse;
using testing::ElementsAre;
using testing::SizeIs;

RateLimitRequest request_of(const std::string& key, std::string_view value) {
  RateLimitRequest request;
  request.set_domain("edge");
  auto& entry = *request.add_descriptors()->add_entries();
  entry.set_key(key);
  entry.set_value(std::string(value));
  return request;
}

// ---- Reading ----

class RateLimitRead : public testing::Test {
 protected:
  Expected<RateLimitAsk, Status> read(const RateLimitRequest& request) {
    bytes_ = request.SerializeAsString();
    return reader_.read(bytes_, {});
  }
  Status fault(const RateLimitRequest& request) { return read(request).error(); }

  RateLimitReader reader_;
  std::string bytes_;
};

TEST_F(RateLimitRead, HasAllThatARequestSays) {
  RateLimitRequest request = request_of("a", "1");
  auto& second = *request.add_descriptors();
  for (const char* name : {"b", "c"}) {
    auto& entry = *second.add_entries();
    entry.set_key(name);
    entry.set_value(std::string(name) + "'s");
  }
  second.mutable_limit()->set_requests_per_unit(7);
  second.mutable_limit()->set_unit(envoy::type::v3::WEEK);
  second.mutable_hits_addend()->set_value(0);
  request.add_descriptors();
  request.set_hits_addend(3);
  const auto ask = read(request);
  ASSERT_TRUE(ask);
  EXPECT_EQ(ask->domain, "edge");
  EXPECT_EQ(ask->hits, 3U);
  ASSERT_THAT(ask->descriptors, SizeIs(3));
  EXPECT_THAT(ask->descriptors[0].entries, ElementsAre(RateLimitEntry{"a", "1"}));
  EXPECT_EQ(ask->descriptors[0].limit, std::nullopt);
  EXPECT_EQ(ask->descriptors[0].hits, std::nullopt);
  EXPECT_THAT(ask->descriptors[1].entries,
              ElementsAre(RateLimitEntry{"b", "b's"}, RateLimitEntry{"c", "c's"}));
  EXPECT_EQ(ask->descriptors[1].limit, (RateLimitOverride{7, RateLimitUnit::week}));
  EXPECT_EQ(ask->descriptors[1].hits, 0U);
  EXPECT_THAT(ask->descriptors[2].entries, SizeIs(0));
}

TEST_F(RateLimitRead, CountsNoHitsAsOne) { EXPECT_EQ(read(request_of("a", "b"))->hits, 1U); }

TEST_F(RateLimitRead, LacksADomainOrDescriptorsInTheKnownWords) {
  RateLimitRequest request = request_of("a", "b");
  request.clear_domain();
  EXPECT_EQ(fault(request), (Status{Code::unknown, "rate limit domain must not be empty"}));
  request.set_domain("edge");
  request.clear_descriptors();
  EXPECT_EQ(fault(request),
            (Status{Code::unknown, "rate limit descriptor list must not be empty"}));
}

TEST_F(RateLimitRead, KeepsToItsBounds) {
  const auto with = [](auto change) {
    RateLimitRequest request = request_of("a", "b");
    change(request);
    return request;
  };
  const auto message = [](const std::string& text) { return Status{Code::invalid_argument, text}; };

  const auto descriptors = [](int count) {
    return [count](auto& request) {
      while (request.descriptors_size() < count) request.add_descriptors();
    };
  };
  EXPECT_TRUE(read(with(descriptors(64))));
  EXPECT_EQ(fault(with(descriptors(65))), message("descriptors: expected 64 at most, found 65"));
  const auto entries = [](int count) {
    return [count](auto& request) {
      auto& last = *request.add_descriptors();
      while (last.entries_size() < count) last.add_entries();
    };
  };
  EXPECT_TRUE(read(with(entries(32))));
  EXPECT_EQ(fault(with(entries(33))),
            message("descriptor 1, entries: expected 32 at most, found 33"));
  EXPECT_EQ(read(with([](auto& request) { request.set_hits_addend(~0U); }))->hits, ~0U);
  const auto ask = read(with([](auto& request) {
    request.mutable_descriptors(0)->mutable_hits_addend()->set_value(~0ULL);
  }));
  EXPECT_EQ(ask->descriptors[0].hits, ~0U) << "more count as so many";
}

TEST_F(RateLimitRead, KnowsTheUnitsOfALimit) {
  for (int unit = -1; unit <= 99; ++unit) {
    RateLimitRequest request = request_of("a", "b");
    request.mutable_descriptors(0)->mutable_limit()->set_unit(
        static_cast<envoy::type::v3::RateLimitUnit>(unit));
    EXPECT_EQ(read(request).has_value(), unit >= 1 && unit <= 7) << unit;
  }
  RateLimitRequest request = request_of("a", "b");
  request.mutable_descriptors(0)->mutable_limit()->set_unit(
      static_cast<envoy::type::v3::RateLimitUnit>(99));
  EXPECT_EQ(fault(request).message,
            "descriptor 0, unit of the limit: expected 1 (SECOND) to 7 (WEEK), found 99");
}

TEST_F(RateLimitRead, RefusesWhatIsNoMessage) {
  const std::string bad[] = {
      "\xff",
      std::string("\x0a\x05"
                  "edge"),                         // shorter than it says
      std::string("\x0a\x02\xff\xfe", 4),          // no UTF-8
      std::string("\x0a\xff\xff\xff\xff\x7f", 6),  // longer than 2^31
      std::string("\x12\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11),
      std::string(300, '\x13'),  // groups in groups
  };
  for (const std::string& message : bad) {
    const auto ask = reader_.read(message, {});
    ASSERT_FALSE(ask);
    EXPECT_EQ(ask.error(), (Status{Code::internal, "the message is no RateLimitRequest"}));
  }
}

/// Of messages of which each but a few has some bytes changed, cut out, doubled or put in.
TEST_F(RateLimitRead, AgreesWithProtobufOnWhateverBytes) {
  RateLimitRequest request = request_of("remote_address", "203.0.113.7");
  request.set_hits_addend(300);
  auto& second = *request.add_descriptors();
  second.add_entries()->set_key("\xc3\xa9t\xc3\xa9");
  second.mutable_limit()->set_requests_per_unit(70'000);
  second.mutable_limit()->set_unit(envoy::type::v3::MONTH);
  second.mutable_hits_addend()->set_value(std::uint64_t{1} << 20);
  std::mt19937_64 random(8);
  const auto below = [&](std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random);
  };
  const std::string whole = request.SerializeAsString();
  std::size_t read_well = 0;
  for (int message = 0; message < 100'000; ++message) {
    std::string bytes = whole;
    for (std::size_t change = below(4); change > 0; --change) {
      const std::size_t at = below(bytes.size());
      switch (below(5)) {
        case 0: bytes[at] = static_cast<char>(below(256)); break;
        case 1: bytes[at] = static_cast<char>(bytes[at] ^ 1 << below(8)); break;
        case 2: bytes.erase(at, 1 + below(4)); break;
        case 3: bytes.insert(at, bytes.substr(below(bytes.size()), 1 + below(40))); break;
        default: bytes.insert(at, 1, static_cast<char>(below(256)));
      }
    }
    ASSERT_TRUE(reads_as_protobuf(reader_, bytes)) << testing::PrintToString(bytes);
    if (reader_.read(bytes, {})) ++read_well;
  }
  EXPECT_GT(read_well, 20'000U);
  EXPECT_LT(read_well, 80'000U);
}

TEST_F(RateLimitRead, PassesOverFieldsThatItDoesNotKnow) {
  bytes_ = request_of("a", "b").SerializeAsString() +
           "\xf2\x01\x03"
           "new";
  EXPECT_TRUE(reader_.read(bytes_, {}));
  bytes_ += std::string("\xf2\x01\xc0\x84\x3d", 5) + std::string(1'000'000, 'x');
  EXPECT_TRUE(reader_.read(bytes_, {}));
}

TEST_F(RateLimitRead, TakesTextsOfAnyLength) {
  const std::string longest(4'000'000, 'x');
  RateLimitRequest request = request_of(longest, longest);
  request.set_domain(longest);
  const auto ask = read(request);
  ASSERT_TRUE(ask);
  EXPECT_EQ(ask->domain, longest);
  EXPECT_EQ(ask->descriptors[0].entries[0], (RateLimitEntry{longest, longest}));
}

TEST_F(RateLimitRead, KeepsLittleOfAHugeList) {
  std::string huge =
      "\x0a\x01"
      "d";
  for (int count = 0; count < 2'000'000; ++count) huge += std::string("\x12\0", 2);
  const auto descriptors = reader_.read(huge, {});
  ASSERT_FALSE(descriptors);
  EXPECT_EQ(descriptors.error().message, "descriptors: expected 64 at most, found 2000000");
  RateLimitRequest request = request_of("a", "b");
  while (request.descriptors(0).entries_size() < 1'000'000) {
    request.mutable_descriptors(0)->add_entries();
  }
  EXPECT_EQ(fault(request).message, "descriptor 0, entries: expected 32 at most, found 1000000");
  EXPECT_TRUE(read(request_of("a", "b")));
  EXPECT_LT(reader_.kept_bytes(), std::size_t{80} << 10);
}

// ---- Answering ----

/// Keeps what was asked, and answers when the test does.
class KeepingDecider final : public RateLimitDecider {
 public:
  void decide(const RateLimitAsk&, RateLimitReply reply) override {
    replies.push_back(std::move(reply));
  }
  std::vector<RateLimitReply> replies;
};

class RateLimitCalls : public GrpcFixture {
 protected:
  static constexpr const char* path =
      "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

  const Heard& ask(const RateLimitRequest& request) {
    return GrpcFixture::ask(call_header(path), framed(request.SerializeAsString()));
  }

  static RateLimitResponse response_of(const Heard& heard) {
    RateLimitResponse response;
    if (heard.messages().size() != 1 || !response.ParseFromString(heard.messages()[0])) {
      ADD_FAILURE() << "no response: " << heard.code() << ' ' << heard.message();
    }
    return response;
  }

  /// From now on a later decision is what a call gets.
  void keep() {
    serve_rate_limits_by(services, keeping_);
    begin();
  }

  KeepingDecider keeping_;
};

TEST_F(RateLimitCalls, AreAnsweredForEachDescriptorInItsPlace) {
  RateLimitRequest request = request_of("a", "1");
  request.add_descriptors()->add_entries()->set_key("over");
  request.add_descriptors();
  const RateLimitResponse response = response_of(ask(request));
  EXPECT_EQ(response.overall_code(), RateLimitResponse::OVER_LIMIT);
  ASSERT_THAT(response.statuses(), SizeIs(3));
  EXPECT_EQ(response.statuses(0).code(), RateLimitResponse::OK);
  EXPECT_EQ(response.statuses(1).code(), RateLimitResponse::OVER_LIMIT);
  EXPECT_EQ(response.statuses(1).limit_remaining(), 0U);
  EXPECT_EQ(response.statuses(2).limit_remaining(), 9U);
  EXPECT_EQ(response.statuses(2).current_limit().name(), "ten");
  EXPECT_EQ(response.statuses(2).duration_until_reset().seconds(), 1);
  EXPECT_EQ(response.statuses(2).duration_until_reset().nanos(), 500'000'000);
}

TEST_F(RateLimitCalls, FailAsTheDeciderSays) {
  const Heard& heard = ask(request_of("fail", "no rate limit configuration loaded"));
  EXPECT_EQ(heard.code(), 2);
  EXPECT_EQ(heard.message(), "no rate limit configuration loaded");
}

TEST_F(RateLimitCalls, WithoutADomainFailInTheKnownWords) {
  const Heard& heard = ask({});
  EXPECT_EQ(heard.code(), 2);
  EXPECT_EQ(heard.message(), "rate limit domain must not be empty");
}

TEST_F(RateLimitCalls, CarryAllThatAnAnswerHas) {
  keep();
  auto metadata = std::make_shared<google::protobuf::Struct>();
  (*metadata->mutable_fields())["domain"].set_string_value("edge");
  const Instant until = Instant{} + 1'795'163'520'000'001us;
  RateLimitAnswer answer{.overall = RateLimitCode::over_limit,
                         .statuses = {{.code = RateLimitCode::unknown,
                                       .limit = {{5, RateLimitUnit::week, "five"}},
                                       .remaining = 4,
                                       .until_reset = 1us,
                                       .quota = {{100, until, "shared"}}},
                                      {.code = RateLimitCode::ok}},
                         .response_headers = {{"ratelimit-limit", "5"}},
                         .request_headers = {{"x-a", "1"}, {"x-b", "2"}},
                         .raw_body = std::string("rest\0", 5),
                         .dynamic_metadata = metadata,
                         .quota = {{7, until, ""}}};
  RateLimitRequest request = request_of("a", "1");
  request.add_descriptors();
  const std::int32_t stream = client->call(call_header(path), framed(request.SerializeAsString()));
  converse(*client, *dialogue);
  ASSERT_THAT(keeping_.replies, SizeIs(1));
  keeping_.replies[0].post(std::move(answer));
  carrier->run_posted();
  converse(*client, *dialogue);
  const RateLimitResponse response = response_of(client->heard(stream));
  EXPECT_EQ(response.statuses(0).current_limit().unit(), RateLimitResponse::RateLimit::WEEK);
  EXPECT_EQ(response.statuses(0).duration_until_reset().nanos(), 1'000);
  EXPECT_EQ(response.statuses(0).quota().requests(), 100U);
  EXPECT_EQ(response.statuses(0).quota().valid_until().seconds(), 1'795'163'520);
  EXPECT_EQ(response.statuses(0).quota().valid_until().nanos(), 1'000);
  EXPECT_EQ(response.statuses(0).quota().id(), "shared");
  EXPECT_FALSE(response.statuses(1).has_current_limit());
  EXPECT_FALSE(response.statuses(1).has_duration_until_reset());
  EXPECT_EQ(response.response_headers_to_add(0).key(), "ratelimit-limit");
  EXPECT_EQ(response.request_headers_to_add(1).value(), "2");
  EXPECT_EQ(response.raw_body(), std::string("rest\0", 5));
  EXPECT_EQ(response.dynamic_metadata().fields().at("domain").string_value(), "edge");
  EXPECT_EQ(response.quota().requests(), 7U);
}

TEST_F(RateLimitCalls, ForgetTheAnswerBefore) {
  keep();
  const auto answered = [&](const RateLimitAnswer& answer) {
    const std::int32_t stream =
        client->call(call_header(path), framed(request_of("a", "1").SerializeAsString()));
    converse(*client, *dialogue);
    keeping_.replies.back().answer(answer);
    converse(*client, *dialogue);
    return response_of(client->heard(stream));
  };
  answered({.statuses = {{.limit = {{5, RateLimitUnit::week, "five"}}}}, .raw_body = "body"});
  const RateLimitResponse bare = answered({.statuses = {{}}});
  EXPECT_FALSE(bare.statuses(0).has_current_limit());
  EXPECT_EQ(bare.raw_body(), "");
}

TEST_F(RateLimitCalls, AnsweredOnOtherDescriptorsFail) {
  keep();
  const std::int32_t stream =
      client->call(call_header(path), framed(request_of("a", "1").SerializeAsString()));
  converse(*client, *dialogue);
  keeping_.replies[0].answer({});
  converse(*client, *dialogue);
  EXPECT_EQ(client->heard(stream).code(), 13);
}

TEST_F(RateLimitCalls, MayFailLater) {
  keep();
  const std::int32_t stream =
      client->call(call_header(path), framed(request_of("a", "1").SerializeAsString()));
  converse(*client, *dialogue);
  keeping_.replies[0].post_failure({Code::unknown, "the store is gone"});
  carrier->run_posted();
  converse(*client, *dialogue);
  EXPECT_EQ(client->heard(stream).message(), "the store is gone");
}

}  // namespace
}  // namespace weir::test
