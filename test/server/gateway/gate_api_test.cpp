// Whose word /v1/forward takes for a request.
#include "server/http/gate_api.hpp"

#include <gmock/gmock.h>

#include "test/server/gateway/gate.hpp"
#include "test/server/http/http_client.hpp"

namespace weir::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class GateApi : public testing::Test {
 protected:
  GateApi() { server::add_gate_api(front_.router, gate_.decider); }

  std::string ask(const char* peer, std::string_view fields) {
    HttpClient proxy(front_, peer);
    return proxy.ask("GET /v1/forward HTTP/1.1\r\nHost: weir\r\n" + std::string(fields) + "\r\n");
  }

  Gate gate_{"rules: [{name: r, key: '{ip}', limit: fixed-window 1/365d}]"};
  server::HttpLimits limits_{};
  server::HttpFront front_{.limits = limits_,
                           .metrics = gate_.service.metrics.add_worker(),
                           .log = gate_.service.log,
                           .read_clock = [this] { return gate_.service.clock.now(); }};
};

TEST_F(GateApi, BelievesWhoIsOfThisMachineUnlessTheRulesSayOtherwise) {
  for (const char* peer : {"127.0.0.1:4711", "[::1]:4711", "unix:/run/weir.sock"}) {
    const std::string client = "X-Forwarded-For: 203.0.113." + std::to_string(peer[1]) + "\r\n";
    EXPECT_THAT(ask(peer, client), StartsWith("HTTP/1.1 200 ")) << peer;
    EXPECT_THAT(ask(peer, client), StartsWith("HTTP/1.1 429 ")) << "it is the client who asks";
  }
}

TEST_F(GateApi, BelievesNobodyElse) {
  for (const char* peer : {"192.0.2.1:4711", "[2001:db8::1]:4711", "[fe80::1%eth0]:4711", "?:1"}) {
    const std::string answer = ask(peer, "X-Forwarded-For: 203.0.113.7\r\n");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 400 "));
    EXPECT_THAT(answer, HasSubstr(std::string(peer) + " is not among the trusted_proxies"));
  }
  ASSERT_TRUE(gate_.reload(
      "{clients: {trusted_proxies: [192.0.2.0/24, 'fe80::/10']}, rules: [{name: r, limit: 9/s}]}"));
  EXPECT_THAT(ask("192.0.2.1:4711", ""), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(ask("[fe80::1%eth0]:4711", ""), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(ask("127.0.0.1:4711", ""), StartsWith("HTTP/1.1 400 "));
}

TEST_F(GateApi, KnowsAHostByEverySpelling) {
  ASSERT_TRUE(
      gate_.reload("rules: [{name: r, match: {host: Shop.Example}, key: '{host}', limit: "
                   "fixed-window 1/365d}]"));
  EXPECT_THAT(ask("127.0.0.1:1", "X-Forwarded-Host: shop.example\r\n"), StartsWith("HTTP/1.1 200"));
  for (const char* said : {"shop.example", "SHOP.example", "shop.example:8080", "shop.example."}) {
    EXPECT_THAT(ask("127.0.0.1:1", "X-Forwarded-Host: " + std::string(said) + "\r\n"),
                StartsWith("HTTP/1.1 429"))
        << said;
  }
  EXPECT_THAT(ask("127.0.0.1:1", "X-Forwarded-Host: shop.example.org\r\n"),
              StartsWith("HTTP/1.1 200"));
}

TEST_F(GateApi, TellsWhoDoesNotQueueThatNothingIsLeft) {
  ASSERT_TRUE(gate_.reload("rules: [{name: r, limit: leaky-bucket 1/10s queue 6}]"));
  EXPECT_THAT(ask("127.0.0.1:1", ""), StartsWith("HTTP/1.1 200"));
  const std::string refused = ask("127.0.0.1:1", "");
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 429"));
  EXPECT_THAT(refused, HasSubstr("\r\nRateLimit: \"r\";r=0;t="));
}

TEST_F(GateApi, BelievesNothingThatIsSaidTwice) {
  EXPECT_THAT(ask("127.0.0.1:1", "X-Forwarded-Uri: /a\r\nx-forwarded-uri: /b\r\n"),
              HasSubstr("two fields x-forwarded-uri; expected that of the proxy alone"));
}

}  // namespace
}  // namespace weir::test
