// What an answer of RateLimitService tells beside the verdict.
#include "server/gateway/rate_limits.hpp"

#include <envoy/service/ratelimit/v3/rls.pb.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "redis/remote_table.hpp"
#include "server/gateway/rule_metrics.hpp"
#include "test/server/gateway/gate.hpp"
#include "test/server/scripted_store.hpp"

namespace weir::test {
namespace {

using envoy::service::ratelimit::v3::RateLimitRequest;
using envoy::service::ratelimit::v3::RateLimitResponse;

/// One call, and its answer.
struct Call final : server::grpc::AnswerAddress, server::grpc::Answering {
  Call() : AnswerAddress{this, nullptr} {}
  void send(std::int32_t, std::string_view message) override {
    ASSERT_TRUE(answer.ParseFromString(std::string(message)));
  }
  void finish(std::int32_t, server::grpc::Status status) override { ended = std::move(status); }

  RateLimitResponse answer;
  server::grpc::Status ended;
};

class RateLimitAnswers : public testing::Test {
 protected:
  RateLimitResponse ask(const RateLimitRequest& request) {
    server::grpc::Services services;
    serve_rate_limits_by(services, limits_);
    const auto& method = std::get<server::grpc::Unary>(
        *services.find("/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"));
    const auto call = std::make_shared<Call>();
    method(request.SerializeAsString(), server::grpc::Reply(call, 0));
    EXPECT_EQ(call->ended.code, server::grpc::Code::ok) << call->ended.message;
    return call->answer;
  }

  /// A call that may be answered later.
  std::shared_ptr<Call> begin(const RateLimitRequest& request, std::chrono::nanoseconds awaited) {
    server::grpc::Services services;
    serve_rate_limits_by(services, limits_);
    const auto call = std::make_shared<Call>();
    call->there = call.get();
    std::get<server::grpc::Unary> (*services.find(server::grpc::rate_limit_method))(
        request.SerializeAsString(), server::grpc::Reply(call, 0, awaited));
    return call;
  }

  /// Each descriptor of one entry.
  static RateLimitRequest of(std::initializer_list<std::pair<const char*, const char*>> entries) {
    RateLimitRequest request;
    request.set_domain("d");
    for (const auto& [key, value] : entries) {
      auto& entry = *request.add_descriptors()->add_entries();
      entry.set_key(key);
      entry.set_value(value);
    }
    return request;
  }

  static void expect_metadata(const RateLimitResponse& response, const std::string& json) {
    google::protobuf::Struct expected;
    ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json, &expected).ok());
    const google::protobuf::Struct& told = response.dynamic_metadata();
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(told, expected))
        << told.DebugString();
  }

  Gate gate_{R"(
domain: d
dynamic_metadata: true
fields: draft06
descriptors:
  - key: a
    rate_limit: {unit: year, requests_per_unit: 100, lease: 10}
    metadata: {name: one, deep: {x: 1, list: [true, "5", 0.5, null]}}
  - key: b
    rate_limit: {unit: year, requests_per_unit: 1}
    metadata: {name: two, deep: {y: no}, more: -2e1}
  - key: quiet
    shadow_mode: true
    rate_limit: {unit: year, requests_per_unit: 0}
    metadata: {shadow: yes}
)"};
  server::RateLimits limits_{gate_.decider};
};

TEST_F(RateLimitAnswers, TellWhatWasAskedAndWhatIsSaidOfTheLimitsThatLetItThrough) {
  RateLimitRequest request = of({{"a", "1"}, {"b", "2"}, {"free", "3"}, {"quiet", "4"}});
  request.set_hits_addend(5);
  request.mutable_descriptors(1)->mutable_hits_addend()->set_value(1);
  request.mutable_descriptors(2)->mutable_limit()->set_requests_per_unit(7);
  request.mutable_descriptors(2)->mutable_limit()->set_unit(envoy::type::v3::WEEK);
  expect_metadata(ask(request), R"({
    "domain": "d",
    "hitsAddend": 5,
    "descriptors": [{"entries": ["a=1"]}, {"entries": ["b=2"], "hitsAddend": 1},
                    {"entries": ["free=3"], "limit": "requests_per_unit:7 unit:WEEK"},
                    {"entries": ["quiet=4"]}],
    "metadata": {"name": "one", "more": -20, "shadow": "yes",
                 "deep": {"list": [true, "5", 0.5, null], "x": 1, "y": "no"}}})");
}

TEST_F(RateLimitAnswers, TellNothingOfALimitThatRefuses) {
  ask(of({{"b", "1"}}));
  const RateLimitResponse over = ask(of({{"b", "1"}}));
  EXPECT_EQ(over.overall_code(), RateLimitResponse::OVER_LIMIT);
  expect_metadata(over, R"({"domain": "d", "descriptors": [{"entries": ["b=1"]}]})");
}

TEST_F(RateLimitAnswers, TellNoMetadataUnlessTheFileSaysSo) {
  ASSERT_TRUE(gate_.reload("{domain: d, descriptors: [{key: a, metadata: {x: 1}}]}"));
  EXPECT_FALSE(ask(of({{"a", "1"}})).has_dynamic_metadata());
}

TEST_F(RateLimitAnswers, TellTheGenerationOfWeirsOwnRules) {
  ASSERT_TRUE(gate_.reload("{domain: d, dynamic_metadata: true, rules: [{name: m, limit: 9/s}]}"));
  expect_metadata(ask(of({{"a", "1"}})),
                  R"({"domain": "d", "generation": 2, "descriptors": [{"entries": ["a=1"]}]})");
}

TEST_F(RateLimitAnswers, CountOnUnderOtherNumbersThatADescriptorBrings) {
  using Override = envoy::extensions::common::ratelimit::v3::RateLimitDescriptor_RateLimitOverride;
  const auto left = [&](std::uint32_t limit, envoy::type::v3::RateLimitUnit unit) {
    RateLimitRequest request = of({{"free", "3"}});
    Override& override = *request.mutable_descriptors(0)->mutable_limit();
    override.set_requests_per_unit(limit);
    override.set_unit(unit);
    const RateLimitResponse answer = ask(request);
    EXPECT_EQ(answer.statuses(0).current_limit().requests_per_unit(), limit);
    const bool over = answer.overall_code() == RateLimitResponse::OVER_LIMIT;
    return over ? -1 : static_cast<int>(answer.statuses(0).limit_remaining());
  };
  EXPECT_EQ(left(10, envoy::type::v3::YEAR), 9);
  EXPECT_EQ(left(20, envoy::type::v3::YEAR), 18);
  EXPECT_EQ(left(2, envoy::type::v3::YEAR), -1);
  EXPECT_EQ(left(3, envoy::type::v3::YEAR), 0);
  EXPECT_EQ(left(0, envoy::type::v3::YEAR), -1);
  EXPECT_EQ(left(5, envoy::type::v3::MONTH), 4) << "by another unit it counts anew";
  const server::RuleCounts* const counts = &gate_.decider.counts();
  std::string metrics;
  server::write_rule_metrics(metrics, server::OfRules::decisions,
                             {*gate_.decider.generation(), {&counts, 1}, {}});
  EXPECT_NE(metrics.find(R"x({domain="d",rule="(descriptor)",result="limited",source="store"} 2)x"),
            std::string::npos)
      << metrics;
  for (std::uint32_t limit = 4; limit < 20'000; ++limit) {
    ASSERT_EQ(left(limit, envoy::type::v3::YEAR), 0);
  }
}

TEST_F(RateLimitAnswers, CountValuesOfAnyLength) {
  const std::string one(20'000, 'x');
  const std::string other = one + "y";
  for (const std::string& value : {one, other}) {
    EXPECT_EQ(ask(of({{"b", value.c_str()}})).overall_code(), RateLimitResponse::OK);
    EXPECT_EQ(ask(of({{"b", value.c_str()}})).overall_code(), RateLimitResponse::OVER_LIMIT);
  }
  EXPECT_LT(gate_.service.table.stats().bytes, 5'000U);
}

TEST_F(RateLimitAnswers, AreOverWithNothingLeftInTheFieldToo) {
  RateLimitRequest request = of({{"b", "1"}});
  request.set_hits_addend(2);
  const RateLimitResponse over = ask(request);
  EXPECT_EQ(over.overall_code(), RateLimitResponse::OVER_LIMIT);
  EXPECT_EQ(over.statuses(0).limit_remaining(), 0U);
  EXPECT_TRUE(over.statuses(0).has_duration_until_reset());
  ASSERT_GE(over.response_headers_to_add_size(), 2);
  EXPECT_EQ(over.response_headers_to_add(1).key(), "RateLimit-Remaining");
  EXPECT_EQ(over.response_headers_to_add(1).value(), "0");
}

TEST_F(RateLimitAnswers, BringTheirNumbersToTheStore) {
  ScriptedStore store;
  redis::RemoteTable table(store, {});
  gate_.service.store = &table;
  store.answer_at_once();
  for (const std::uint32_t limit : {7U, 9U}) {
    RateLimitRequest request = of({{"free", "3"}});
    request.mutable_descriptors(0)->mutable_limit()->set_requests_per_unit(limit);
    request.mutable_descriptors(0)->mutable_limit()->set_unit(envoy::type::v3::WEEK);
    EXPECT_EQ(ask(request).overall_code(), RateLimitResponse::OK);
  }
  ASSERT_EQ(store.calls(), 2U);
  EXPECT_EQ(store.words(0).at(3), store.words(1).at(3)) << "one state";
  EXPECT_EQ(store.words(0).at(4), "f 60000000 7 604800000000");
  EXPECT_EQ(store.words(1).at(4), "f 60000000 9 604800000000");
  gate_.service.store = nullptr;
}

TEST_F(RateLimitAnswers, AreKeptBackNoLongerThanHalfOfTheTimeThatTheyAreAwaited) {
  ASSERT_TRUE(gate_.reload(
      "{domain: d, rules: [{name: q, limit: leaky-bucket 10/1s queue 10, hold: 1s}]}"));
  const auto code = [](const std::shared_ptr<Call>& call) { return call->answer.overall_code(); };
  EXPECT_EQ(code(begin(of({{"a", "1"}}), std::chrono::milliseconds(1))), RateLimitResponse::OK);
  EXPECT_EQ(code(begin(of({{"a", "1"}}), std::chrono::milliseconds(150))),
            RateLimitResponse::OVER_LIMIT)
      << "its slot is 100 ms away";
  const auto kept = begin(of({{"a", "1"}}), std::chrono::minutes(1));
  EXPECT_EQ(code(kept), RateLimitResponse::UNKNOWN) << "not answered yet";
  gate_.loop.run();
  EXPECT_EQ(code(kept), RateLimitResponse::OK);
}

TEST_F(RateLimitAnswers, NameTheUnitOfAWindowOfTheCalendar) {
  ASSERT_TRUE(gate_.reload("{domain: d, rules: [{name: m, limit: calendar-window 3/month}]}"));
  EXPECT_EQ(ask(of({{"a", "1"}})).statuses(0).current_limit().unit(),
            RateLimitResponse::RateLimit::MONTH);
}

TEST_F(RateLimitAnswers, CarryTheQuotaOfADescriptorsLease) {
  const RateLimitResponse response = ask(of({{"b", "1"}, {"a", "1"}}));
  EXPECT_FALSE(response.statuses(0).has_quota());
  const auto& quota = response.statuses(1).quota();
  EXPECT_EQ(quota.requests(), 10U);
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  EXPECT_NEAR(double(quota.valid_until().seconds()) + quota.valid_until().nanos() * 1e-9, now + 1,
              10);
  EXPECT_EQ(response.statuses(1).limit_remaining(), 90U);
  EXPECT_FALSE(response.has_quota()) << "of all descriptors together: there is no such lease";
}

TEST_F(RateLimitAnswers, AddTheFieldsThatTheFileNames) {
  const RateLimitResponse response = ask(of({{"a", "1"}, {"b", "1"}}));
  const std::vector<gateway::Entry> of_b{{"b", "1"}};
  ASSERT_EQ(response.response_headers_to_add_size(), 3);
  EXPECT_EQ(response.response_headers_to_add(0).key(), "RateLimit-Limit");
  EXPECT_EQ(response.response_headers_to_add(0).value(), "1");
  EXPECT_EQ(response.response_headers_to_add(1).key(), "RateLimit-Remaining");
  EXPECT_EQ(response.response_headers_to_add(1).value(), "0");
  EXPECT_EQ(response.response_headers_to_add(2).key(), "RateLimit-Reset");
  EXPECT_EQ(
      response.response_headers_to_add(2).value(),
      std::to_string(
          std::chrono::ceil<std::chrono::seconds>(
              gate_.ask({.calls = {{.descriptor = of_b}}, .verb = server::GateAsk::Verb::peek})
                  ->judged.at(0)
                  .decision->reset_at -
              gate_.service.clock.now())
              .count()));
}

}  // namespace
}  // namespace weir::test
