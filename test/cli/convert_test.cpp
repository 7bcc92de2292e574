#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "cli/conversion.hpp"
#include "gateway/rule_file.hpp"
#include "test/cli/program.hpp"
#include "test/cli/rule_texts.hpp"

namespace weir::test {
namespace {

using cli::ExitCode;
using ::testing::HasSubstr;
using ::testing::Not;

gateway::RuleSet set_of(std::string_view text) {
  auto domain = gateway::read_rule_file(text);
  EXPECT_TRUE(domain.has_value()) << text << gateway::told("f", domain.error());
  std::vector<gateway::Domain> domains;
  domains.push_back(std::move(domain).value());
  return gateway::RuleSet(std::move(domains));
}

/// The limits that decide on a call; where none does, nothing.
std::string limits_on(const gateway::RuleSet& rules, const gateway::Call& call) {
  std::vector<gateway::Match> matches;
  rules.find(rules.domains().front().name)->match(call, matches);
  gateway::drop_replaced(matches);
  std::string limits;
  for (const gateway::Match& match : matches) {
    using enum gateway::Quota::Kind;
    if (match.quota->kind == unlimited) continue;
    limits += (match.quota->kind == limited ? match.quota->limit->text() : "blocked");
    limits += match.rule->shadow ? " shadow;" : ";";
  }
  return limits;
}

struct Converted {
  Output output;
  std::string text;
};

Converted converted(const std::string& from, std::string_view text) {
  const Output output = run_weir({"convert", "--from", from, file_of("convert_" + from, text)});
  EXPECT_TRUE(gateway::read_rule_file(output.out).has_value()) << output.out << output.err;
  return {output, output.out};
}

TEST(ConvertEnvoy, DecidesByTheSameLimitsAsTheFileItself) {
  const auto made = converted("envoy-ratelimit", envoy_rules);
  EXPECT_EQ(made.output.code, ExitCode::ok) << made.text;
  const gateway::RuleSet before = set_of(envoy_rules);
  const gateway::RuleSet after = set_of(made.text);
  using Entries = std::vector<gateway::Entry>;
  for (const Entries& entries :
       {Entries{{"plan", "gold"}}, Entries{{"plan", "tin"}}, Entries{{"plan", "free"}},
        Entries{{"plan", "free-7"}}, Entries{{"plan", "staff"}}, Entries{{"tenant", "t1"}},
        Entries{{"tenant", "t2"}}, Entries{{"tenant", "t1"}, {"plan", "gold"}}}) {
    EXPECT_EQ(limits_on(after, {.descriptor = entries}), limits_on(before, {.descriptor = entries}))
        << entries.front().key << '=' << entries.front().value << '\n'
        << made.text;
  }
}

/// A tree of descriptors by chance, with a key of its own for each place in a descriptor, and
/// descriptors that it may know.
class ChanceTree {
 public:
  explicit ChanceTree(unsigned seed) : random_(seed) {
    text_ = "domain: d\ndescriptors: [";
    grow(0);
    text_ += "]\n";
  }

  const std::string& text() const { return text_; }

  std::vector<gateway::Entry> descriptor() {
    constexpr const char* values[] = {"x", "y", "y1", "z"};
    std::vector<gateway::Entry> entries;
    const std::size_t size = 1 + pick(3);
    while (entries.size() < size) {
      entries.push_back({keys[entries.size()][pick(2)], values[pick(4)]});
    }
    return entries;
  }

 private:
  static constexpr const char* keys[3][2] = {{"a", "b"}, {"c", "d"}, {"e", "f"}};

  std::size_t pick(std::size_t below) { return random_() % below; }

  void grow(std::size_t depth) {
    constexpr const char* values[] = {"", ", value: x", ", value: y*"};
    bool any = false;
    for (const char* key : keys[depth]) {
      for (const char* value : values) {
        if (any && pick(2) == 0) continue;
        text_ += std::string(any ? ",\n {key: " : "{key: ") + key + value;
        any = true;
        if (pick(3) > 0) {
          text_ +=
              ", rate_limit: {unit: day, requests_per_unit: " + std::to_string(++limits_) + '}';
        }
        if (depth < 2 && pick(3) > 0) {
          text_ += ", descriptors: [";
          grow(depth + 1);
          text_ += "]";
        }
        text_ += "}";
      }
    }
  }

  std::mt19937 random_;
  std::string text_;
  int limits_ = 0;
};

TEST(ConvertEnvoy, DecidesByTheSameLimitsAsFilesByChance) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    ChanceTree tree(seed);
    const auto made = cli::convert_envoy(tree.text());
    ASSERT_TRUE(made.has_value()) << tree.text() << made.error().message;
    const gateway::RuleSet before = set_of(tree.text());
    const gateway::RuleSet after = set_of(print(*made));
    for (int time = 0; time < 100; ++time) {
      const std::vector<gateway::Entry> entries = tree.descriptor();
      std::string said;
      for (const auto& [key, value] : entries) said.append(key).append("=").append(value) += ' ';
      ASSERT_EQ(limits_on(after, {.descriptor = entries}),
                limits_on(before, {.descriptor = entries}))
          << said << '\n'
          << tree.text() << print(*made);
    }
  }
}

TEST(ConvertEnvoy, TellsWhatCannotBeSaid) {
  const auto made =
      converted("envoy-ratelimit",
                "domain: a b\ndescriptors:\n- key: k\n  quota_mode: true\n"
                "  metadata: {a: b}\n"
                "  rate_limit: {unit: second, requests_per_unit: 1}\n"
                "- key: '{'\n  rate_limit: {unit: day, requests_per_unit: 1}\n"
                "- {key: l, rate_limit: {unit: day, requests_per_unit: 1, lease: 7}}");
  EXPECT_EQ(made.output.code, ExitCode::refused);
  EXPECT_THAT(made.text,
              HasSubstr("# not converted: line 3: quota_mode; here the rule refuses nobody\n"));
  EXPECT_THAT(made.text, HasSubstr("# not converted: line 7: braces in the key {\n"));
  EXPECT_THAT(made.text, HasSubstr("# not converted: line 3: metadata\n"));
  EXPECT_THAT(made.text, HasSubstr("\n    shadow: true\n"));
  EXPECT_THAT(made.text, HasSubstr("\n    lease: 7\n"));
  EXPECT_THAT(made.text, HasSubstr("domain: \"a-b\"\n"));
}

TEST(ConvertEnvoy, RefusesWhatIsNoFileOfIts) {
  const std::string file = file_of("convert_none", "domain: a\ndescriptors:\n- {value: b}\n");
  const Output output = run_weir({"convert", "--from", "envoy-ratelimit", file});
  EXPECT_EQ(output.code, ExitCode::bad_input);
  EXPECT_EQ(output.err, file + ":3:3: a descriptor needs the field 'key'\n");
}

constexpr std::string_view limits = R"(
- namespace: shop
  name: posts
  max_value: 10
  seconds: 60
  conditions: ["descriptors[0].method == 'POST'", "descriptors[0]['plan'] == \"a*\"", "x == 'y'"]
  variables: ["descriptors[0].user", tenant]
- {namespace: shop, max_value: 0, seconds: 5, conditions: [], variables: []}
)";

TEST(ConvertLimitador, MakesRulesOfConditionsAndVariables) {
  const auto made = converted("limitador", limits);
  EXPECT_EQ(made.output.code, ExitCode::ok) << made.text;
  EXPECT_THAT(made.text, HasSubstr(R"(
  - name: "posts"  # line 2
    match: {descriptor: {"method": "POST", "plan": "a\\*", "x": "y"}}
    key: "{descriptor.user} {descriptor.tenant}"
    limit: "fixed-window 10/60s"
  - name: "line-8"  # line 8
    limit: "blocked"
)"));
}

TEST(ConvertLimitador, LeavesOutALimitThatItCannotSayWhole) {
  for (const char* condition :
       {"a != 'b'", "a == 'b' || c == 'd'", "descriptors[1].a == 'b'", "a == b", "int(a) == '1'",
        "descriptors == 'a'", "a == 'b' && a == 'd'", "a == ''' + 'b'", "", "a == 'b' &&", "!a",
        "a in []", "a in ['b', c]", "a in 'b'", "a.startsWith(b)", "a.startsWith('b') && c",
        "!a.startsWith('b')", "a.endsWith('b')", "a in ['b'"}) {
    const auto made = converted("limitador",
                                "- namespace: n\n  max_value: 1\n  seconds: 1\n"
                                "  conditions:\n  - " +
                                    std::string("\"") + condition + "\"\n");
    EXPECT_EQ(made.output.code, ExitCode::refused) << condition;
    EXPECT_THAT(made.text, HasSubstr("# not converted: line 5: the limit for its condition"));
    EXPECT_THAT(made.text, HasSubstr("rules: []"));
  }
}

TEST(ConvertLimitador, KnowsSeveralValuesBeginningsAndConditionsInOne) {
  const auto made = converted("limitador", R"(
- namespace: n
  max_value: 1
  seconds: 1
  conditions:
  - "descriptors[0].plan in ['a, b', 'c*'] && path.startsWith('/v1 && /v2/') && m == 'x in y'"
  - "descriptors[0]['in'] == 'd'"
)");
  EXPECT_EQ(made.output.code, ExitCode::ok) << made.text;
  EXPECT_THAT(made.text, HasSubstr(R"(match: {descriptor: {"plan": ["a, b","c\\*"], )"
                                   R"("path": "/v1 && /v2/*", "m": "x in y", "in": "d"}})"));
}

TEST(ConvertLimitador, ConvertsOneOfSeveralNamespaces) {
  const std::string file = file_of("convert_two",
                                   "- {namespace: a, max_value: 1, seconds: 1}\n"
                                   "- {namespace: b, max_value: 2, seconds: 1}\n");
  EXPECT_THAT(run_weir({"convert", "--from", "limitador", file}).err,
              HasSubstr("expected --domain and one of a, b"));
  const Output output = run_weir({"convert", "--from", "limitador", file, "--domain", "b"});
  EXPECT_THAT(output.out, HasSubstr("fixed-window 2/1s"));
  EXPECT_THAT(output.out, Not(HasSubstr("fixed-window 1/1s")));
}

constexpr std::string_view nginx = R"(# the shop
http {
  limit_req_zone $binary_remote_addr zone=per_ip:10m rate=10r/s;
  limit_req_zone "$http_x_api_key$uri" zone=per_key:10m rate=30r/m;
  server {
    server_name shop.example.com *.shop.example.com;
    limit_req zone=per_key;
    location / { limit_req zone=per_ip burst=20 nodelay; }
    location = /login {
      limit_req zone=per_ip burst=5;  # queued
    }
  }
}
)";

TEST(ConvertNginx, MakesRulesOfZonesAndLocations) {
  const auto made = converted("nginx", nginx);
  EXPECT_THAT(made.text, HasSubstr(R"(
  - name: "per_ip"  # line 8
    match: {route: "/*", host: ["shop.example.com","*.shop.example.com"]}
    key: "{ip}"
    limit: "10/s burst 21"
    replaces: ["per_key"]
  - name: "per_ip-2"  # line 10
    match: {route: "/login", host: ["shop.example.com","*.shop.example.com"]}
    key: "{ip}"
    limit: "leaky-bucket 10/s queue 5"
)"));
  EXPECT_THAT(made.text,
              HasSubstr("key: \"{header.x-api-key} {uri}\"\n    limit: \"30/m burst 1\""));
  EXPECT_THAT(made.text, HasSubstr("# not converted: line 10: the zone per_ip is shared"));
  EXPECT_EQ(made.output.code, ExitCode::refused);
}

TEST(ConvertNginx, OnlyTheNearestLocationCounts) {
  const gateway::RuleSet rules = set_of(converted("nginx", nginx).text);
  const auto limits_at = [&](std::string_view uri) {
    const std::vector<gateway::Header> headers{{"x-api-key", "k"}};
    return limits_on(rules, {.host = "shop.example.com",
                             .uri = uri,
                             .ip = gateway::parse_address("1.2.3.4").value(),
                             .headers = headers});
  };
  EXPECT_EQ(limits_at("/login"), "leaky-bucket 10/1s queue 5;");
  EXPECT_EQ(limits_at("/other"), "10/1s burst 21;");
}

TEST(ConvertNginx, ALocationWithoutLimitsIsFreeOfThoseOfAShorterOne) {
  const std::string zone = "limit_req_zone $host zone=z:1m rate=1r/s;\n";
  const gateway::RuleSet rules = set_of(
      converted("nginx", zone + "location / { limit_req zone=z; }\nlocation /static/ { }\n").text);
  EXPECT_EQ(limits_on(rules, {.host = "a", .uri = "/static/x"}), "");
  EXPECT_EQ(limits_on(rules, {.host = "a", .uri = "/stat"}), "1/1s;");
  const gateway::RuleSet inherited =
      set_of(converted("nginx", zone + "limit_req_zone $uri zone=y:1m rate=2r/s;\n"
                                       "server { limit_req zone=y;\n"
                                       "location / { limit_req zone=z; }\n"
                                       "location /static/ { location /static/x { } } }\n")
                 .text);
  for (const char* uri : {"/static/y", "/static/x"}) {
    EXPECT_EQ(limits_on(inherited, {.host = "a", .uri = uri}), "2/1s burst 1;") << uri;
  }
}

TEST(ConvertNginx, ALocationThatLosesItsLimitsHasNoneOfOthers) {
  const auto made = converted("nginx",
                              "limit_req_zone $host zone=z:1m rate=1r/s;\n"
                              "limit_req_zone $cookie_a zone=c:1m rate=2r/s;\n"
                              "server { limit_req zone=z;\n"
                              "location / { limit_req zone=z burst=2 nodelay; }\n"
                              "location /api/ { limit_req zone=c; } }\n"
                              "server { server_name b; location / { limit_req zone=z; }\n"
                              "location ~ [0-9] { } }\n");
  EXPECT_THAT(made.text, HasSubstr("# not converted: line 5: the limits of this location: here it "
                                   "has none\n"));
  EXPECT_THAT(made.text, HasSubstr("# not converted: line 7: location [0-9] of a form that no "
                                   "pattern has: here the limits of others count\n"));
  const gateway::RuleSet rules = set_of(made.text);
  EXPECT_EQ(limits_on(rules, {.host = "a", .uri = "/api/x"}), "");
  EXPECT_EQ(limits_on(rules, {.host = "a", .uri = "/x"}), "1/1s burst 3;");
}

TEST(ConvertNginx, SaysExpressionsThatPatternsCanSay) {
  const auto routes = [](const std::string& location) {
    const std::string text = converted("nginx",
                                       "limit_req_zone $host zone=z:1m rate=1r/s;\n"
                                       "location " +
                                           location + " { limit_req zone=z; }\n")
                                 .text;
    const std::size_t at = text.find("{route: ");
    return at == std::string::npos ? "" : text.substr(at + 8, text.find('}', at) - at - 8);
  };
  for (const auto& [location, expected] : std::vector<std::pair<std::string, std::string>>{
           {R"(~ \.php$)", R"("*.php")"},
           {R"(~ ^/api/)", R"("/api/*")"},
           {R"(~ ^/a\.b$)", R"("/a.b")"},
           {R"(~ ^/a/.*/z$)", R"("/a/*/z")"},
           {R"(~ "^/(v1|v\.2)/")", R"(["/v1/*","/v.2/*"])"},
           {R"(~ /(?:a|b)(1|2)$)", R"(["*/a1","*/a2","*/b1","*/b2"])"},
           {R"(~* \.Js$)", R"(["*.Js","*.JS","*.js"])"},
           {R"(~* ^/1/$)", R"("/1/")"},
           {R"(~ ^/a\*b$)", R"("/a\\*b")"},
           {R"(= /x)", R"("/x")"},
           {R"(^~ /x)", R"("/x*")"},
           {R"(/x*)", R"("/x\\**")"}}) {
    EXPECT_EQ(routes(location), expected) << location;
  }
  for (const char* location : {R"(~ \d)", "~ a+", "~ .php", "~ a?", "~ [a]", "~ ^/(a", "~ a|b",
                               "~ (a(b))", "~ a$b", "~ ^/(a.b)$", "~ (?i)a", "~ x{2}", "~ (a)*",
                               "@named", "~ (a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)"}) {
    EXPECT_EQ(routes(location), "") << location;
  }
}

TEST(ConvertNginx, CountsByTheLocationAndTheServerThatNginxTakes) {
  std::string zones;
  for (int rate = 1; rate <= 9; ++rate) {
    const std::string number = std::to_string(rate);
    zones += "limit_req_zone $uri zone=z" + number + ":1m rate=" + number + "r/s;\n";
  }
  const gateway::RuleSet rules = set_of(converted("nginx", zones + R"(
server { server_name _; limit_req zone=z1; }
server { server_name *.b; limit_req zone=z2; location /c { limit_req zone=z3; } }
server { server_name a.b; limit_req zone=z4;
  location / { limit_req zone=z5; location /in { limit_req zone=z6; } }
  location ^~ /first { }
  location = /e.php { limit_req zone=z7; }
  location ~ \.php$ { limit_req zone=z8; }
  location ~ ^/in/ { limit_req zone=z9; }
}
)")
                                            .text);
  for (const auto& [host, uri, rate] :
       std::vector<std::tuple<const char*, const char*, int>>{{"x", "/c", 1},
                                                              {"x.b", "/c/d", 3},
                                                              {"x.b", "/d", 2},
                                                              {"a.b", "/c", 5},
                                                              {"a.b", "/in", 6},
                                                              {"a.b", "/in/x", 9},
                                                              {"a.b", "/in/x.php", 8},
                                                              {"a.b", "/first/x.php", 4},
                                                              {"a.b", "/e.php", 7},
                                                              {"a.b", "/e.php/f.php", 8}}) {
    EXPECT_EQ(limits_on(rules, {.host = host, .uri = uri}),
              std::to_string(rate) + (rate > 1 ? "/1s burst 1;" : "/1s;"))
        << host << uri;
  }
}

TEST(ConvertNginx, KnowsTheServersNameInAKey) {
  const auto made = converted("nginx",
                              "limit_req_zone $server_name zone=s:1m rate=1r/s;\n"
                              "limit_req_zone $binary_remote_addr$server_name$request_uri "
                              "zone=t:1m rate=2r/s;\n"
                              "limit_req zone=t;\n"
                              "server { server_name a; limit_req zone=s; }\n"
                              "server { server_name b; limit_req zone=t; }\n");
  EXPECT_THAT(made.text, HasSubstr("match: {host: [\"a\"]}\n    limit: \"1/s burst 1\""));
  EXPECT_THAT(made.text, HasSubstr("key: \"{ip} {uri}\""));
  EXPECT_THAT(made.text, HasSubstr("key: \"{ip} {host} {uri}\""));
}

TEST(ConvertNginx, TellsTheLineOfWhatItDoesNotUnderstand) {
  const auto made = converted("nginx",
                              "limit_req_zone $ssl_client_s_dn zone=a:1m rate=1r/s;\n"
                              "limit_req_zone $uri zone=b:1m rate=2r/s;\n"
                              "limit_req_status 503;\n"
                              "location ~ \\.ph[p]$ { limit_req zone=b; }\n"
                              "location /x { limit_req zone=b burst=8 delay=3; }\n"
                              "location /y { limit_req zone=none; }\n"
                              "include other.conf;\n");
  for (const char* told : {"line 1: the key $ssl_client_s_dn", "line 3: limit_req_status 503",
                           "line 4: location \\.ph[p]$ of a form", "line 5: delay=3",
                           "line 6: limit_req of zone 'none'", "line 7: include other.conf"}) {
    EXPECT_THAT(made.text, HasSubstr(std::string("# not converted: ") + told));
  }
  EXPECT_EQ(made.output.code, ExitCode::refused);
}

TEST(ConvertNginx, MakesAFileThatReadsOfEveryBeginningOfOne) {
  for (std::size_t end = 0; end <= nginx.size(); ++end) {
    const auto made = cli::convert_nginx(nginx.substr(0, end));
    ASSERT_TRUE(made.has_value());
    ASSERT_TRUE(gateway::read_rule_file(print(*made)).has_value()) << print(*made);
  }
}

TEST(Convert, OfABadUsageIsRefused) {
  EXPECT_THAT(run_weir({"convert", "--from", "envoy"}).err,
              HasSubstr("expected envoy-ratelimit, limitador or nginx"));
  EXPECT_THAT(run_weir({"convert", "--from", "nginx"}).err, HasSubstr("convert needs a file"));
  EXPECT_EQ(run_weir({"convert", "--from", "nginx", "/nowhere"}).code, ExitCode::bad_input);
}

}  // namespace
}  // namespace weir::test
