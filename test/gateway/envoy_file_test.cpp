#include <gtest/gtest.h>

#include "gateway/rule_file.hpp"

namespace weir::gateway {
namespace {

constexpr std::string_view basic = R"(
domain: test-domain
descriptors:
  - key: key1
    value: value1
    descriptors:
      - key: subkey1
        rate_limit: {unit: second, requests_per_unit: 5}
      - key: subkey1
        value: subvalue1
        rate_limit: {unit: second, requests_per_unit: 10}
  - key: key2
    rate_limit: {unit: minute, requests_per_unit: 20}
  - key: key2
    value: value2
    rate_limit: {unit: minute, requests_per_unit: 30}
  - key: key2
    value: value3
  - key: key5
    value: value5
    rate_limit: {unit: day, requests_per_unit: 15}
    descriptors:
      - key: subkey5
        value: subvalue5
        rate_limit: {unit: day, requests_per_unit: 25}
  - key: key6
    rate_limit: {unlimited: true}
  - key: key7
    detailed_metric: true
    rate_limit: {unit: MINUTE, requests_per_unit: 70}
)";

/// A domain and its index, which points into it.
struct Indexed {
  explicit Indexed(std::string_view text) : set(one(text)), rules(set.usual()) {}

  static std::vector<Domain> one(std::string_view text) {
    std::vector<Domain> domains;
    domains.push_back(read_rule_file(text).value());
    return domains;
  }

  std::vector<Match> met(std::vector<Entry> entries) const {
    std::vector<Match> matches;
    rules->match({.descriptor = entries}, matches);
    return matches;
  }

  /// The limit that a descriptor meets, its rule's label behind it; "none" without.
  std::string limit(std::vector<Entry> entries) const {
    const auto matches = met(std::move(entries));
    if (matches.empty()) return "none";
    const Quota& quota = *matches.front().quota;
    const std::string& label = matches.front().rule->label;
    if (quota.kind == Quota::Kind::unlimited) return "unlimited " + label;
    if (quota.kind == Quota::Kind::blocked) return "blocked " + label;
    return quota.limit->text() + ' ' + label;
  }

  RuleSet set;
  const RuleIndex* rules;
};

TEST(EnvoyFile, FindsTheLimitsThatItsFirstReaderFinds) {
  const Indexed file(basic);
  EXPECT_EQ(file.limit({{"key1", "value1"}, {"subkey1", "something"}}),
            "fixed-window 5/1s key1_value1.subkey1");
  EXPECT_EQ(file.limit({{"key1", "value1"}, {"subkey1", "subvalue1"}}),
            "fixed-window 10/1s key1_value1.subkey1_subvalue1");
  EXPECT_EQ(file.limit({{"key1", "value1"}}), "none");
  EXPECT_EQ(file.limit({{"key2", "x"}}), "fixed-window 20/1m key2");
  EXPECT_EQ(file.limit({{"key2", "value2"}}), "fixed-window 30/1m key2_value2");
  EXPECT_EQ(file.limit({{"key2", "value3"}}), "none") << "a value without a limit is let through";
  EXPECT_EQ(file.limit({{"key5", "value5"}}), "fixed-window 15/1d key5_value5");
  EXPECT_EQ(file.limit({{"key5", "value5"}, {"subkey5", "other"}}), "none");
  EXPECT_EQ(file.limit({{"key5", "value5"}, {"subkey5", "subvalue5"}}),
            "fixed-window 25/1d key5_value5.subkey5_subvalue5");
  EXPECT_EQ(file.limit({{"key6", "any"}}), "unlimited key6");
  EXPECT_EQ(file.limit({{"key7", "foo"}}), "fixed-window 70/1m key7");
  EXPECT_EQ(file.limit({}), "none");
}

TEST(EnvoyFile, ExactGoesBeforeTheFirstWildcardAndThatBeforeTheKeyAlone) {
  const Indexed file(R"(
domain: d
descriptors:
  - {key: k, rate_limit: {unit: second, requests_per_unit: 1}}
  - {key: k, value: "a*", rate_limit: {unit: second, requests_per_unit: 2}}
  - {key: k, value: "*b", rate_limit: {unit: second, requests_per_unit: 3}}
  - {key: k, value: ab, rate_limit: {unit: second, requests_per_unit: 4}}
  - {key: k, value: 'x*y\z', rate_limit: {unit: second, requests_per_unit: 5}}
)");
  EXPECT_EQ(file.limit({{"k", "ab"}}), "fixed-window 4/1s k_ab");
  EXPECT_EQ(file.limit({{"k", "a1b"}}), "fixed-window 2/1s k_a*") << "the first in the file";
  EXPECT_EQ(file.limit({{"k", "b"}}), "fixed-window 3/1s k_*b") << "a star may stand for nothing";
  EXPECT_EQ(file.limit({{"k", "c"}}), "fixed-window 1/1s k");
  EXPECT_EQ(file.limit({{"k", "x1y\\z"}}), "fixed-window 5/1s k_x*y\\z");
}

TEST(EnvoyFile, AStepIsNeverTakenBack) {
  const Indexed file(R"(
domain: d
descriptors:
  - key: k
    value: v
    descriptors:
      - {key: other, rate_limit: {unit: second, requests_per_unit: 1}}
  - key: k
    value: "*"
    descriptors:
      - {key: sub, rate_limit: {unit: second, requests_per_unit: 2}}
)");
  EXPECT_EQ(file.limit({{"k", "v"}, {"sub", "x"}}), "none") << "the exact branch hides the other";
  EXPECT_EQ(file.limit({{"k", "w"}, {"sub", "x"}}), "fixed-window 2/1s k_*.sub");
}

TEST(EnvoyFile, DifferentDescriptorsNeverMeet) {
  const Indexed file(R"(
domain: d
descriptors:
  - key: a
    rate_limit: {unit: second, requests_per_unit: 1}
    descriptors:
      - {key: b, rate_limit: {unit: second, requests_per_unit: 1}}
)");
  const std::string pair = file.met({{"a", "x"}, {"b", "y"}}).at(0).key;
  EXPECT_NE(pair, file.met({{"a", "x,b=y"}}).at(0).key);
  EXPECT_NE(pair, file.met({{"a", "x_b_y"}}).at(0).key);
  EXPECT_NE(pair, file.met({{"a", "x%2Cb%3Dy"}}).at(0).key);
}

TEST(EnvoyFile, ASharedThresholdCountsAllValuesOfItsPatternTogether) {
  const Indexed file(R"(
domain: d
descriptors:
  - key: k
    value: "files/*"
    share_threshold: true
    rate_limit: {unit: second, requests_per_unit: 1}
  - key: k
    value: "each/*"
    rate_limit: {unit: second, requests_per_unit: 1}
)");
  EXPECT_EQ(file.met({{"k", "files/a"}}).at(0).key, file.met({{"k", "files/b"}}).at(0).key);
  EXPECT_NE(file.met({{"k", "each/a"}}).at(0).key, file.met({{"k", "each/b"}}).at(0).key);
}

TEST(EnvoyFile, NamesAnyAlgorithmInOneFieldMore) {
  const Indexed file(R"(
domain: d
descriptors:
  - key: k
    rate_limit: {unit: minute, requests_per_unit: 100, algorithm: token-bucket burst 200}
  - key: never
    rate_limit: {unit: minute, requests_per_unit: 0}
)");
  EXPECT_EQ(file.limit({{"k", "v"}}), "100/1m burst 200 k");
  EXPECT_EQ(file.limit({{"never", "v"}}), "blocked never");
}

TEST(EnvoyFile, NamesInFieldsMoreWhatItsFirstReaderHasInItsEnvironment) {
  const Indexed plain("domain: d\ndescriptors: []\n");
  EXPECT_EQ(plain.rules->domain().dialect, http::RateDialect::none);
  EXPECT_FALSE(plain.rules->domain().dynamic_metadata);
  const Indexed file(R"(
domain: d
fields: draft06
dynamic_metadata: true
descriptors:
  - key: k
    rate_limit: {unit: minute, requests_per_unit: 100, lease: 10}
    metadata: {team: a}
)");
  EXPECT_EQ(file.rules->domain().dialect, http::RateDialect::draft06);
  EXPECT_TRUE(file.rules->domain().dynamic_metadata);
  const EdgeRule& rule = *file.met({{"k", "v"}}).at(0).rule;
  EXPECT_EQ(rule.lease, 10);
  EXPECT_EQ(rule.metadata.children.at(1).text, "a");
}

TEST(EnvoyFile, BoundsWhatAnswersCarry) {
  const auto fault = [](const std::string& metadata) {
    const auto read = read_rule_file("domain: d\ndescriptors:\n- key: k\n  metadata: " + metadata);
    return read ? "" : told("f", read.error());
  };
  EXPECT_EQ(fault("{a: " + std::string(4000, 'x') + '}'), "");
  EXPECT_EQ(fault("{a: " + std::string(4100, 'x') + '}'),
            "f:4:13: metadata is larger than 4 KiB; expected less");
  EXPECT_EQ(fault("{a: " + std::string(14, '[') + std::string(14, ']') + '}'), "");
  EXPECT_EQ(fault("{a: " + std::string(16, '[') + std::string(16, ']') + '}'),
            "f:4:32: metadata is nested more than 16 deep");
  EXPECT_EQ(fault("text"), "f:4:13: metadata is 'text'; expected a map");
}

TEST(EnvoyFile, MonthsAndYearsAreThoseOfThirtyDaysAndOf365) {
  const Indexed file(R"(
domain: d
descriptors:
  - {key: week, rate_limit: {unit: week, requests_per_unit: 1}}
  - {key: month, rate_limit: {unit: month, requests_per_unit: 1}}
  - {key: year, rate_limit: {unit: year, requests_per_unit: 1}}
)");
  EXPECT_EQ(file.limit({{"week", "v"}}), "fixed-window 1/7d week");
  EXPECT_EQ(file.limit({{"month", "v"}}), "fixed-window 1/30d month");
  EXPECT_EQ(file.limit({{"year", "v"}}), "fixed-window 1/365d year");
}

TEST(EnvoyFile, WhatReplacesTakesTheNamedOutOfTheSameRequest) {
  const Indexed file(R"(
domain: d
descriptors:
  - {key: all, rate_limit: {name: common, unit: second, requests_per_unit: 1}}
  - key: vip
    rate_limit: {unlimited: true, replaces: [{name: common}]}
)");
  std::vector<Match> matches;
  const std::vector<Entry> all{{"all", "x"}};
  const std::vector<Entry> vip{{"vip", "x"}};
  file.rules->match({.descriptor = all}, matches);
  file.rules->match({.descriptor = vip}, matches);
  EXPECT_TRUE(drop_replaced(matches));
  ASSERT_EQ(matches.size(), 1U);
  EXPECT_EQ(matches[0].quota->kind, Quota::Kind::unlimited);
  EXPECT_FALSE(drop_replaced(matches));
}

struct Bad {
  const char* what;
  std::string text;
  const char* error;
};

class BadEnvoyFile : public testing::TestWithParam<Bad> {};

TEST_P(BadEnvoyFile, IsAnErrorThatNamesThePlace) {
  const auto read = read_rule_file(GetParam().text);
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(told("f", read.error()), GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    Envoy, BadEnvoyFile,
    testing::Values(
        Bad{"Unit", "domain: d\ndescriptors:\n- key: k\n  rate_limit: {unit: foo}\n",
            "f:4:22: unit is 'foo'; expected second, minute, hour, day, week, month or year"},
        Bad{"UnitAlmost", "domain: d\ndescriptors:\n- key: k\n  rate_limit: {unit: secnd}\n",
            "f:4:22: unit is 'secnd'; expected second, minute, hour, day, week, month or year; "
            "did you mean 'second'?"},
        Bad{"NoDomain", "descriptors: []\n", "f:1:1: a rate limit file needs the field 'domain'"},
        Bad{"EmptyDomain", "domain: ''\ndescriptors: []\n",
            "f:1:9: domain is empty; expected a name"},
        Bad{"EmptyKey", "domain: d\ndescriptors:\n- key: ''\n",
            "f:3:8: key is empty; expected that of an entry"},
        Bad{"NoKey", "domain: d\ndescriptors:\n- value: v\n",
            "f:3:3: a descriptor needs the field 'key'"},
        Bad{"Twice", "domain: d\ndescriptors:\n- {key: k, value: v}\n- {key: k, value: v}\n",
            "f:4:3: the descriptor k with value v stands at this level already"},
        Bad{"Misspelled", "domain: d\ndescriptors:\n- {key: k, ratelimit: {}}\n",
            "f:3:12: a descriptor has no field 'ratelimit'; did you mean 'rate_limit'?"},
        Bad{"NoList", "domain: d\ndescriptors: {key: k}\n",
            "f:2:14: descriptors is a map; expected a list"},
        Bad{"NoMap", "domain: d\ndescriptors: [k]\n",
            "f:2:15: a descriptor is 'k'; expected a map of fields"},
        Bad{"UnlimitedAndUnit",
            "domain: d\ndescriptors:\n- key: k\n  rate_limit: {unit: day, unlimited: true}\n",
            "f:4:22: a unit beside unlimited; expected one of the two"},
        Bad{"ReplacesItself",
            "domain: d\ndescriptors:\n- key: k\n  rate_limit:\n    unit: day\n    name: n\n"
            "    replaces:\n    - name: n\n",
            "f:8:13: a rate_limit that replaces itself"},
        Bad{"ReplacesNothing",
            "domain: d\ndescriptors:\n- key: k\n  rate_limit:\n    unit: day\n    name: n\n"
            "    replaces:\n    - name: ''\n",
            "f:8:13: name is empty; expected that of a rate_limit"},
        Bad{"LongWithStar",
            "domain: d\ndescriptors:\n- {key: k, value: " + std::string(512, 'v') + "*}\n",
            "f:3:19: value has a '*' and 513 bytes; expected 512 at most"},
        Bad{"ThresholdWithoutStar",
            "domain: d\ndescriptors:\n- {key: k, value: v, share_threshold: true}\n",
            "f:3:39: share_threshold is for a value with a '*'"},
        Bad{"NegativeCount",
            "domain: d\ndescriptors:\n- key: k\n  rate_limit: {unit: day, requests_per_unit: -1}\n",
            "f:4:46: requests_per_unit is '-1'; expected a whole number from 0 to 4294967295"},
        Bad{"LeaseOfALeakyBucket",
            "domain: d\ndescriptors:\n- key: k\n  rate_limit: {unit: day, requests_per_unit: 9, "
            "algorithm: leaky-bucket, lease: 5}\n",
            "f:4:81: lease: leaky-bucket 9/1d grants nothing ahead; expected a limit without "
            "leaky-bucket, concurrency and block"},
        Bad{"NoLease",
            "domain: d\ndescriptors:\n- key: k\n  rate_limit: {unit: day, requests_per_unit: 9, "
            "lease: 0}\n",
            "f:4:56: lease is '0'; expected a whole number from 1 to 1000000"},
        Bad{"NumberAsKey", "domain: d\ndescriptors: []\n5: x\n",
            "f:3:1: a rate limit file has no field '5'"}),
    [](const auto& bad) { return bad.param.what; });

}  // namespace
}  // namespace weir::gateway
