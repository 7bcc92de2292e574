// Envoy's rate limit service asked in JSON.
#include "server/gateway/json_api.hpp"

#include <gmock/gmock.h>

#include "server/gateway/rate_limits.hpp"
#include "test/server/gateway/gate.hpp"
#include "test/server/http/http_client.hpp"

namespace weir::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class JsonApi : public testing::Test {
 protected:
  JsonApi() {
    serve_rate_limits_by(services_, limits_);
    server::add_json_api(front_.router, services_, gate_.decider);
  }

  std::string ask(std::string_view body) {
    HttpClient client(front_, "127.0.0.1:1");
    return client.ask(
        "POST /json HTTP/1.1\r\nHost: weir\r\nContent-Type: application/json\r\n"
        "Content-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + std::string(body));
  }

  Gate gate_{
      "{domain: edge, rules: [{name: r, key: '{descriptor.user}', "
      "limit: fixed-window 2/365d}]}"};
  server::RateLimits limits_{gate_.decider};
  server::grpc::Services services_;
  server::HttpLimits http_limits_{};
  server::HttpFront front_{.limits = http_limits_,
                           .metrics = gate_.service.metrics.add_worker(),
                           .log = gate_.service.log,
                           .read_clock = [this] { return gate_.service.clock.now(); }};
};

constexpr const char* bob =
    R"({"domain":"edge","descriptors":[{"entries":[{"key":"user","value":"bob"}]}]})";

TEST_F(JsonApi, LetsThroughUntilTheLimit) {
  for (int left = 1; left >= 0; --left) {
    const std::string answer = ask(bob);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(answer, HasSubstr("Content-Type: application/json\r\n"));
    EXPECT_THAT(answer, HasSubstr("Weir-Generation: 1\r\n"));
    EXPECT_THAT(answer, HasSubstr(R"({"overallCode":"OK","statuses":[{"code":"OK")"));
    EXPECT_EQ(answer.find("limitRemaining") != std::string::npos, left > 0);  // 0 is not written
  }
  const std::string answer = ask(bob);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 429 "));
  EXPECT_THAT(answer, HasSubstr("Weir-Generation: 1\r\n"));
  EXPECT_THAT(answer, HasSubstr(R"({"overallCode":"OVER_LIMIT","statuses":[{"code":"OVER_LIMIT")"));
}

TEST_F(JsonApi, TellsTheRulesThatDecided) {
  ASSERT_TRUE(gate_.reload("{domain: edge, rules: [{name: r, limit: 9/s}]}"));
  EXPECT_THAT(ask(bob), HasSubstr("Weir-Generation: 2\r\n"));
}

TEST_F(JsonApi, KnowsEitherNameOfAFieldAndHitsOfADescriptor) {
  const std::string answer =
      ask(R"({"domain":"edge","hits_addend":7,"descriptors":[{"entries":[{"key":"user",)"
          R"("value":"eve"}],"hitsAddend":"2"}]})");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(answer, Not(HasSubstr("limitRemaining")));  // 0
}

TEST_F(JsonApi, SaysWhatIsWrongWithABody) {
  struct Wrong {
    std::string body;
    std::string said;
  };
  const std::string deep = std::string(17, '[') + std::string(17, ']');
  for (const auto& [body, said] : {
           Wrong{"", "byte 0: expected one JSON value in UTF-8"},
           {"{'domain':'edge'}", "byte 1: expected one JSON value in UTF-8"},
           {R"({"domain":"edge","domain":"other"})", "/domain: expected each name once"},
           {R"({"domain":"edge"} x)", "byte 18: expected one JSON value in UTF-8"},
           {R"({"hitsAddend":1e999})", "/hitsAddend: expected a number that a double can hold"},
           {"{\"domain\":\"\xff\"}", "expected one JSON value in UTF-8"},
           {deep, "at most 16 deep"},
           {"[]", "the body: expected an object"},
           {R"({"domain":"edge","descriptor":[]})", "descriptor: Cannot find field."},
           {R"({"domain":7})", "domain"},
           {R"({"hitsAddend":-1})", "(hits_addend): invalid value -1"},
           {R"({"hitsAddend":4294967296})", "(hits_addend): invalid value 4294967296"},
           {R"({"descriptors":[{}]})", "rate limit domain must not be empty"},
           {R"({"domain":"edge"})", "rate limit descriptor list must not be empty"},
       }) {
    const std::string answer = ask(body);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 400 ")) << body;
    EXPECT_THAT(answer, HasSubstr("Content-Type: text/plain")) << body;
    EXPECT_THAT(answer, HasSubstr(said)) << body;
    EXPECT_THAT(answer, Not(HasSubstr("Weir-Generation"))) << body;
  }
}

TEST_F(JsonApi, LetsThroughWhatHasNoRules) {
  const std::string answer =
      ask(R"({"domain":"elsewhere","descriptors":[{"entries":[{"key":"a","value":"b"}]},{}]})");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(answer, HasSubstr(R"("statuses":[{"code":"OK"},{"code":"OK"}])"));
}

}  // namespace
}  // namespace weir::test
