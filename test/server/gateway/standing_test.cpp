#include "server/gateway/standing.hpp"

#include <gtest/gtest.h>

#include "test/server/gateway/gate.hpp"

namespace weir::test {
namespace {

using gateway::Entry;
using http::RateDialect;
using server::GateAnswer;
using server::standing_of;

/// The fields of an answer, a line each.
std::string told(const GateAnswer& answer, RateDialect dialect) {
  std::string lines;
  const server::Standing standing = standing_of(answer);
  http::RateFields::write(dialect, standing.shown(), [&lines](const http::Field& field) {
    lines += std::string(field.name) + ": " + field.value + '\n';
  });
  return lines;
}

std::string told(Gate& gate, RateDialect dialect) {
  return told(*gate.ask({.calls = {{.user = "ann"}}}), dialect);
}

TEST(Standing, ListsEveryRuleThatWasMetTheOneThatBindsFirst) {
  Gate gate(R"(
rules:
  - {name: all, limit: 100/1h}
  - {name: each, key: "{user}", limit: 2/1m}
  - {name: tried, limit: 1/1m, shadow: true}
  - {name: free, limit: unlimited}
  - {name: other, match: {method: POST}, limit: 1/1s}
)");
  EXPECT_EQ(told(gate, RateDialect::ietf),
            "RateLimit-Policy: \"each\";q=2;w=60, \"all\";q=100;w=3600\n"
            "RateLimit: \"each\";r=1;t=30, \"all\";r=99;t=36\n");
  EXPECT_EQ(told(gate, RateDialect::draft03),
            "X-RateLimit-Limit: 2, 2;w=60;name=\"each\", 100;w=3600;name=\"all\"\n"
            "X-RateLimit-Remaining: 0\n"
            "X-RateLimit-Reset: 60\n");
  EXPECT_EQ(told(gate, RateDialect::ietf),
            "RateLimit-Policy: \"each\";q=2;w=60, \"all\";q=100;w=3600\n"
            "RateLimit: \"each\";r=0;t=30, \"all\";r=98;t=72\n"
            "Retry-After: 30\n")
      << "a refusal took nothing of what all share";
}

TEST(Standing, OfManyRulesListsEightWithLeastLeft) {
  std::string text = "rules:\n";
  for (int rule = 0; rule < 12; ++rule) {
    text +=
        "- {name: r" + std::to_string(rule) + ", limit: " + std::to_string(90 - rule) + "/1m}\n";
  }
  Gate gate(text);
  const GateAnswer answer = *gate.ask({.calls = {{.user = "ann"}}});
  std::string names;
  for (const http::RatePolicy& policy : standing_of(answer).policies) {
    names += std::string(policy.name) + ' ';
  }
  EXPECT_EQ(names, "r11 r10 r9 r8 r7 r6 r5 r4 ");
}

TEST(Standing, ARuleThatSeveralDescriptorsMeetStandsThereOnce) {
  Gate gate("rules: [{name: r, key: '{descriptor.k}', limit: 6/1m}]");
  const std::vector<Entry> a{{"k", "a"}};
  const std::vector<Entry> b{{"k", "b"}};
  gate.ask({.calls = {{.descriptor = b}}});
  EXPECT_EQ(told(*gate.ask({.calls = {{.descriptor = a}, {.descriptor = b}}}), RateDialect::ietf),
            "RateLimit-Policy: \"r\";q=6;w=60\n"
            "RateLimit: \"r\";r=4;t=20\n");
}

// What LIMIT_RESPONSE_HEADERS_ENABLED of envoyproxy/ratelimit adds.
TEST(Standing, OfAnEnvoyFileIsThatOfTheDescriptorWithLeastLeft) {
  Gate gate(R"(
domain: d
fields: draft06
descriptors:
  - {key: a, rate_limit: {unit: year, requests_per_unit: 20}}
  - {key: b, rate_limit: {unit: year, requests_per_unit: 2}}
)");
  const std::vector<Entry> a{{"a", "x"}};
  const std::vector<Entry> b{{"b", "x"}};
  const auto first_two = [&] {
    const std::string lines = told(*gate.ask({.calls = {{.descriptor = a}, {.descriptor = b}}}),
                                   gate.decider.generation()->rules.usual()->domain().dialect);
    return lines.substr(0, lines.find("RateLimit-Reset: "));
  };
  EXPECT_EQ(first_two(), "RateLimit-Limit: 2\nRateLimit-Remaining: 1\n");
  EXPECT_EQ(first_two(), "RateLimit-Limit: 2\nRateLimit-Remaining: 0\n");
  EXPECT_EQ(first_two(), "RateLimit-Limit: 2\nRateLimit-Remaining: 0\n") << "who is over binds";
}

}  // namespace
}  // namespace weir::test
