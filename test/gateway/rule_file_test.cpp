#include "gateway/rule_file.hpp"

#include <gtest/gtest.h>

namespace weir::gateway {
namespace {

constexpr std::string_view shop = R"(# the shop's limits
domain: shop
clients:
  ip_from: x-forwarded-for
  trusted_proxies: [127.0.0.1, 10.0.0.0/8]
  ipv6_prefix: 56
  user_header: X-User
rules:
  - name: login
    match: {route: /login, method: POST}
    key: "{ip}"
    limit: 5/1m
    overrides:
      10.9.9.9: unlimited
      6.6.6.6: blocked
      7.7.7.7: 100/1m
  - name: api
    match:
      route: [/api/*, /v2/*]
      header: {x-plan: [free, trial*]}
    key: "{user} {uri}"
    missing: share
    limit: sliding-log 100/1m
    cost: 2
    hold: 50ms
    without_store: closed
    shadow: true
    candidates: [10/1s, token-bucket 20/1s]
  - name: inside
    match: {ip: [10.0.0.0/8, "2001:db8::/32"]}
    limit: unlimited
    replaces: [api]
  - name: by-key
    match:
      descriptor: {tenant: , plan: gold}
    key: "{descriptor.tenant}"
    limit: 10/s & 1000/1d
)";

struct Rules {
  explicit Rules(std::string_view text) : set(one(text)), index(set.usual()) {}
  static std::vector<Domain> one(std::string_view text) {
    std::vector<Domain> domains;
    domains.push_back(read_rule_file(text).value());
    return domains;
  }
  std::vector<std::string> met(const Call& call) const {
    std::vector<Match> matches;
    index->match(call, matches);
    std::vector<std::string> found;
    for (const Match& match : matches) {
      found.push_back(match.rule->name + ' ' + match.key + (match.refused ? " refused" : ""));
    }
    return found;
  }
  RuleSet set;
  const RuleIndex* index;
};

using Names = std::vector<std::string>;

TEST(RuleFile, SaysWhichRulesACallMeetsAndWhatTheyCountBy) {
  const Rules rules(shop);
  const auto ip = parse_address("1.2.3.4").value();
  EXPECT_EQ(rules.met({.method = "POST", .uri = "/login", .ip = ip}), (Names{"login 1.2.3.4"}));
  EXPECT_EQ(rules.met({.method = "GET", .uri = "/login", .ip = ip}), Names{});
  const std::vector<Header> free{{"x-plan", "free"}};
  const std::vector<Header> trial{{"x-plan", "trial-7"}};
  const std::vector<Header> paid{{"x-plan", "paid"}};
  EXPECT_EQ(rules.met({.uri = "/api/a", .user = "ann", .headers = free}),
            (Names{"api ann /api/a"}));
  EXPECT_EQ(rules.met({.uri = "/v2/", .user = "ann", .headers = trial}), (Names{"api ann /v2/"}));
  EXPECT_EQ(rules.met({.uri = "/api/a", .user = "ann", .headers = paid}), Names{});
  EXPECT_EQ(rules.met({.uri = "/api/a", .user = "ann"}), Names{});
  EXPECT_EQ(rules.met({.uri = "/", .ip = parse_address("10.1.1.1").value()}), (Names{"inside "}));
  const std::vector<Entry> gold{{"tenant", "t1"}, {"plan", "gold"}};
  const std::vector<Entry> plain{{"tenant", "t1"}, {"plan", "tin"}};
  EXPECT_EQ(rules.met({.descriptor = gold}), (Names{"by-key t1"}));
  EXPECT_EQ(rules.met({.descriptor = plain}), Names{});
}

TEST(RuleFile, ADescriptorMayHaveMoreEntriesUnlessTheRuleIsForAWholeOne) {
  const std::vector<Entry> more{{"plan", "gold"}, {"tenant", "t1"}, {"path", "/a"}};
  const std::vector<Entry> these{{"plan", "gold"}, {"tenant", "t1"}};
  const std::vector<Entry> fewer{{"plan", "gold"}};
  for (const bool whole : {false, true}) {
    const Rules rules(
        "rules: [{name: r, limit: 1/s, match: {descriptor: {tenant: , plan: gold}, "
        "whole_descriptor: " +
        std::string(whole ? "true" : "false") + "}}]");
    EXPECT_EQ(rules.met({.descriptor = these}), (Names{"r "}));
    EXPECT_EQ(rules.met({.descriptor = fewer}), Names{});
    EXPECT_EQ(rules.met({.descriptor = more}), whole ? Names{} : Names{"r "});
  }
}

TEST(RuleFile, AKeyMayHaveALimitOfItsOwn) {
  const Rules rules(shop);
  const auto kind_of = [&](std::string_view ip) {
    std::vector<Match> matches;
    rules.index->match({.method = "POST", .uri = "/login", .ip = parse_address(ip).value()},
                       matches);
    // "inside" is met, too, from 10.0.0.0/8
    return matches.at(0).quota->kind == Quota::Kind::limited   ? matches.at(0).quota->limit->text()
           : matches.at(0).quota->kind == Quota::Kind::blocked ? "blocked"
                                                               : "unlimited";
  };
  EXPECT_EQ(kind_of("1.1.1.1"), "5/1m");
  EXPECT_EQ(kind_of("10.9.9.9"), "unlimited");
  EXPECT_EQ(kind_of("6.6.6.6"), "blocked");
  EXPECT_EQ(kind_of("7.7.7.7"), "100/1m");
}

TEST(RuleFile, ACallThatDoesNotSayWhatIsCountedByIsSkippedSharedOrRefused) {
  for (const auto& [missing, expected] :
       std::vector<std::pair<std::string, Names>>{{"", {}},
                                                  {"missing: skip", {}},
                                                  {"missing: share", {"r %missing"}},
                                                  {"missing: refuse", {"r %missing refused"}}}) {
    const Rules rules("rules: [{name: r, key: '{user}', limit: 1/s, " + missing + "}]");
    EXPECT_EQ(rules.met({}), expected) << missing;
    EXPECT_EQ(rules.met({.user = ""}), expected) << "an empty name is none: " << missing;
    EXPECT_EQ(rules.met({.user = "ann"}), (Names{"r ann"}));
  }
}

TEST(RuleFile, OnlyLimitsThatGrantAheadHaveALease) {
  const auto fault = [](const std::string& fields) {
    const auto read = read_rule_file("rules: [{name: r, " + fields + "}]");
    return read ? "" : read.error().message;
  };
  const std::string expected =
      " grants nothing ahead; expected a limit without leaky-bucket, concurrency and block";
  EXPECT_EQ(fault("limit: 5/s & sliding-log 9/1m, lease: 5"), "");
  EXPECT_EQ(
      fault("key: '{user}', limit: 5/s, lease: 5, overrides: {a: unlimited, b: blocked, c: 9/s}"),
      "");
  EXPECT_EQ(fault("limit: leaky-bucket 5/s queue 3, lease: 1"),
            "lease: leaky-bucket 5/1s queue 3" + expected);
  EXPECT_EQ(fault("limit: 5/s, shadow: true, lease: 5"),
            "lease: a rule in shadow or quota mode refuses nobody by itself; expected none");
  EXPECT_EQ(fault("limit: 5/s block 1m, lease: 5"), "lease: 5/1s block 1m" + expected);
  EXPECT_EQ(fault("key: '{user}', limit: 5/s, lease: 5, overrides: {c: concurrency 9/1m}"),
            "lease: concurrency 9/1m" + expected);
}

TEST(RuleFile, ALimitOfItsOwnThatDoesNothingOrRefusesForEverIsAnError) {
  const auto fault = [](const std::string& fields, const std::string& clients = "") {
    const auto read = read_rule_file(clients + "rules: [{name: r, limit: 9/1m, " + fields + "}]");
    return read ? "" : read.error().message;
  };
  EXPECT_EQ(fault("overrides: {a: 1/s}"),
            "an override: the rule counts all calls together; expected a key, as \"{user}\", whose "
            "values can have limits of their own");
  const std::string ip = "key: '{ip}', ";
  EXPECT_EQ(fault(ip + "overrides: {'2001:db8::/64': blocked, 1.2.3.4: 1/s}"), "");
  EXPECT_EQ(fault(ip + "overrides: {banana: 1/s}"),
            "an override: the rule's key is an address, 'banana' is none");
  const std::string expected = "'; expected '2001:db8::/64', as these addresses are counted";
  for (const std::string key : {"2001:db8::1", "2001:DB8::/64", "2001:db8::/32"}) {
    EXPECT_EQ(fault(ip + "overrides: {'" + key + "': blocked}"),
              "an override: no call has the key '" + key + expected);
  }
  EXPECT_EQ(fault(ip + "overrides: {'2001:db8::1': 1/s}", "clients: {ipv6_prefix: 128}\n"), "");
  EXPECT_EQ(
      fault(ip + "overrides: {10.0.0.0/8: 1/s}"),
      "an override: no call has the key '10.0.0.0/8'; expected '10.0.0.0', as these addresses "
      "are counted");
  EXPECT_EQ(fault(ip + "missing: share, overrides: {'%missing': 1/s}"), "");
  EXPECT_EQ(fault("key: '{user}', cost: 5, overrides: {a: 5/1m, b: blocked, c: unlimited}"), "");
  EXPECT_EQ(fault("key: '{user}', cost: 5, overrides: {a: 4/1m}"),
            "an override: '4/1m' never grants the rule's cost of 5");
  EXPECT_EQ(fault("cost: 5, candidates: [5/1m, 4/1m]"),
            "a candidate: '4/1m' never grants the rule's cost of 5");
}

TEST(RuleFile, KeysOfSeveralValuesNeverMeet) {
  const Rules rules("rules: [{name: r, key: '{user} {uri}', limit: 1/s}]");
  const auto key = [&](std::string_view user, std::string_view uri) {
    return rules.met({.uri = uri, .user = user}).at(0);
  };
  EXPECT_NE(key("a b", "c"), key("a", "b c"));
  EXPECT_NE(key("a%20b", "c"), key("a b", "c"));
  EXPECT_NE(key("a", " b"), key("a ", "b"));
}

TEST(RuleFile, ReadsWhatIsWrittenOfARule) {
  const Domain domain = read_rule_file(shop).value();
  EXPECT_EQ(domain.name, "shop");
  EXPECT_EQ(domain.clients.user_header, "x-user");
  EXPECT_EQ(domain.clients.grouping.v6_bits, 56);
  EXPECT_TRUE(domain.clients.trusted.contains(parse_address("10.3.4.5").value()));
  EXPECT_FALSE(domain.clients.trusted.contains(parse_address("127.0.0.2").value()));
  const EdgeRule& api = domain.rules.at(1);
  EXPECT_EQ(api.cost, 2);
  EXPECT_EQ(api.hold, std::chrono::milliseconds(50));
  EXPECT_EQ(api.without_store, WithoutStore::closed);
  EXPECT_TRUE(api.shadow);
  EXPECT_EQ(api.candidates.size(), 2U);
  EXPECT_EQ(domain.rules.at(2).replaces, (Names{"api"}));
}

TEST(RuleFile, WithoutADomainItIsTheDefaultOneAndProxiesOfThisMachineAreTrusted) {
  const Domain domain = read_rule_file("rules: []").value();
  EXPECT_EQ(domain.name, "default");
  EXPECT_TRUE(domain.clients.trusted.contains(parse_address("127.0.0.1").value()));
  EXPECT_FALSE(domain.clients.trusted.contains(parse_address("10.0.0.1").value()));
}

TEST(Rate, IsARuleInALine) {
  const Domain domain = read_rate("5/1m per ip and uri").value();
  EXPECT_EQ(domain.name, "default");
  EXPECT_EQ(domain.rules.at(0).key.text(), "{ip} {uri}");
  EXPECT_EQ(domain.rules.at(0).quota.limit->text(), "5/1m");
  EXPECT_EQ(read_rate("100/s").value().rules.at(0).key.text(), "");
  EXPECT_EQ(read_rate("100/s per header.X-Key").value().rules.at(0).key.text(), "{header.x-key}");
}

TEST(Rate, SaysWhereItIsNone) {
  EXPECT_EQ(read_rate("5 per ip").error().column, 2U);
  const LimitError who = read_rate("5/s per usr").error();
  EXPECT_EQ(who.column, 9U);
  EXPECT_NE(who.message.find("did you mean 'user'"), std::string::npos) << who.message;
  EXPECT_EQ(read_rate("5/s per ip and usr").error().column, 16U);
  EXPECT_EQ(read_rate("5/s per ip and user").error().column, 16U) << "no header is named";
}

struct Bad {
  const char* what;
  std::string text;
  const char* error;
};

class BadRuleFile : public testing::TestWithParam<Bad> {};

TEST_P(BadRuleFile, IsAnErrorThatNamesThePlace) {
  const auto read = read_rule_file(GetParam().text);
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(told("f", read.error()), GetParam().error);
}

std::string nested(std::size_t levels) {
  return "rules: " + std::string(levels, '[') + std::string(levels, ']');
}

/// Nine levels of nine: a billion values in a few lines.
std::string laughs() {
  std::string text = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n";
  for (int level = 1; level < 9; ++level) {
    const std::string below = "*a" + std::to_string(level - 1);
    text += 'a' + std::to_string(level) + ": &a" + std::to_string(level) + " [" + below;
    for (int more = 0; more < 8; ++more) text += ',' + below;
    text += "]\n";
  }
  return text;
}

INSTANTIATE_TEST_SUITE_P(
    Own, BadRuleFile,
    testing::Values(
        Bad{"Empty", "", "f: a rule file is nothing; expected a map of fields"},
        Bad{"Text", "hello", "f:1:1: a rule file is 'hello'; expected a map of fields"},
        Bad{"UnknownField", "rules: []\nrulez: []\n",
            "f:2:1: a rule file has no field 'rulez'; did you mean 'rules'?"},
        Bad{"NoName", "rules:\n- limit: 1/s\n", "f:2:3: a rule needs the field 'name'"},
        Bad{"NoLimit", "rules:\n- name: a\n", "f:2:3: a rule needs the field 'limit'"},
        Bad{"SpacesInAName", "rules:\n- {name: 'a b', limit: 1/s}\n",
            "f:2:10: name is 'a b'; expected 1 to 64 letters, digits, '_', '-', '.' or ':'"},
        Bad{"NameTwice", "rules:\n- {name: a, limit: 1/s}\n- {name: a, limit: 1/s}\n",
            "f:3:3: the name 'a' is that of the rule in line 2 already"},
        Bad{"KeyTwice", "rules: []\nrules: []\n",
            "f:2:1: the key 'rules' stands in this map already, in line 1"},
        Bad{"MisspelledRuleField", "rules:\n- {name: a, limt: 1/s}\n",
            "f:2:13: a rule has no field 'limt'; did you mean 'limit'?"},
        Bad{"BadLimit", "rules:\n- name: a\n  limit: 5/1x\n",
            "f:3:12: limit: expected a period such as s, 10s, 1m, 1h or 1d, got '1x'"},
        Bad{"ZeroRate", "rules:\n- name: a\n  limit: 0/s\n",
            "f:3:10: limit: '0/s' must be greater than zero"},
        Bad{"BadKey", "rules:\n- name: a\n  key: \"{ip} {usr}\"\n  limit: 1/s\n",
            "f:3:15: key: 'usr' is nothing that a call says; expected ip, user, uri, method, host, "
            "header.NAME or descriptor.KEY; did you mean 'user'?"},
        Bad{"ValuesSideBySide", "rules:\n- name: a\n  key: \"{ip}{user}\"\n  limit: 1/s\n",
            "f:3:13: key: two values side by side; expected something between them, as a space"},
        Bad{"OpenBrace", "rules:\n- {name: a, key: '{ip', limit: 1/s}\n",
            "f:2:19: key: a '{' without its '}'"},
        Bad{"BadNetwork", "rules:\n- {name: a, match: {ip: 10.1.2.3/8}, limit: 1/s}\n",
            "f:2:25: ip: 10.1.2.3/8: host bits are set; expected 10.0.0.0/8"},
        Bad{"NoNetworks", "rules:\n- {name: a, match: {ip: []}, limit: 1/s}\n",
            "f:2:25: ip is an empty list: nothing would match"},
        Bad{"LongHold", "rules:\n- {name: a, hold: 5m, limit: 1/s}\n",
            "f:2:19: hold is '5m'; expected a duration of a minute at most, as 50ms"},
        Bad{"UnknownWord", "rules:\n- {name: a, without_store: opn, limit: 1/s}\n",
            "f:2:28: without_store is 'opn'; expected one of share, open, closed; did you mean "
            "'open'?"},
        Bad{"TextForTruth", "rules:\n- {name: a, shadow: 'true', limit: 1/s}\n",
            "f:2:21: shadow is 'true'; expected true or false"},
        Bad{"NegativeCost", "rules:\n- {name: a, cost: -1, limit: 1/s}\n",
            "f:2:19: cost is '-1'; expected a whole number from 0 to 1000000000"},
        Bad{"HugeCost", "rules:\n- {name: a, cost: 1e30, limit: 1/s}\n",
            "f:2:19: cost is '1e30'; expected a whole number from 0 to 1000000000"},
        Bad{"ReplacesInACircle",
            "rules:\n- {name: a, limit: 1/s, replaces: [b]}\n- {name: b, limit: 1/s, replaces: c}\n"
            "- {name: c, limit: 1/s, replaces: [b, d]}\n- {name: d, limit: 1/s}\n",
            "f:3:3: 'b' and 'c' replace each other, in a circle: neither would count"},
        Bad{"CostNeverGranted", "rules: [{name: a, cost: 3, limit: 2/1h}]",
            "f:1:25: cost is 3, which '2/1h' never grants"},
        Bad{"HostWithAPort", "rules: [{name: a, match: {host: ['*.a:80']}, limit: 2/1h}]",
            "f:1:34: host is '*.a:80'; expected a name without a port"},
        Bad{"ReplacesUnknown",
            "rules:\n- {name: abc, limit: 1/s, replaces: [abd]}\n"
            "- {name: abe, limit: 1/s}\n",
            "f:2:3: replaces names 'abd', which no rule of this domain has; did you mean 'abc'?"},
        Bad{"Initial", "rules:\n- {name: a, limit: 5/s initial 0}\n",
            "f:2:20: limit: initial is for a single limiter; a key must start full, or dropping "
            "its state would change answers"},
        Bad{"MergeKey", "rules:\n- <<: {name: a}\n  limit: 1/s\n",
            "f:2:3: a merge key; expected each field by itself"},
        Bad{"Tag", "rules: !!set []\n",
            "f:1:8: the tag tag:yaml.org,2002:set; expected a value "
            "without one"},
        Bad{"TwoDocuments", "rules: []\n---\nrules: []\n",
            "f:2:1: a second document; expected one"},
        Bad{"Deep", nested(200), "f:1:103: nested deeper than 96 levels"},
        Bad{"AliasesOfAliases", laughs(), "f:7:10: more than 1000000 values in one file"},
        Bad{"Nul", std::string("rules: [\"a\\0b\"]\n"), "f:1:9: a NUL byte in a text"},
        Bad{"Tab", "rules:\n\t- a\n",
            "f:2:2: illegal block entry; the line begins with a tab, expected spaces"},
        Bad{"WholeOfNoDescriptor",
            "rules: [{name: a, limit: 1/s, match: {route: /a, whole_descriptor: true}}]",
            "f:1:68: whole_descriptor stands beside a descriptor; expected that too"},
        Bad{"Unclosed", "rules: [a\n", "f:2:1: end of sequence flow not found"}),
    [](const auto& bad) { return bad.param.what; });

TEST(BadRuleFile, OfAHundredMegabytesIsRefusedAtOnce) {
  const auto read = read_rule_file(std::string(100'000'000, ' '));
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(told("f", read.error()), "f: longer than 16777216 bytes");
}

}  // namespace
}  // namespace weir::gateway
