#include "gateway/forwarded.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "test/gateway/addresses.hpp"

namespace weir::gateway {
namespace {

using Lines = std::vector<std::string_view>;

const char* const proxy = "10.0.0.1";  // trusted, as all of its network

/// The client of a request that came by `proxy`, or by another peer.
struct Request {
  ClientFrom from = ClientFrom::x_forwarded_for;
  const char* peer = proxy;
};

std::string client(const Lines& lines, const Request& request = {}) {
  static const NetworkSet trusted({network("10.0.0.0/8"), network("fd00::/8")});
  return print(client_of(request.from, {.peer = address(request.peer), .lines = lines}, trusted));
}

std::string client_by_forwarded(const Lines& lines) {
  return client(lines, {.from = ClientFrom::forwarded});
}

TEST(Client, IsThePeerWhereNobodyElseIsAsked) {
  EXPECT_EQ(client({"1.2.3.4"}, {.from = ClientFrom::peer}), proxy);
  EXPECT_EQ(client({}), proxy);
  EXPECT_EQ(client_by_forwarded({}), proxy);
}

TEST(Client, APeerThatIsNotTrustedIsTheClientWhateverItSays) {
  EXPECT_EQ(client({"1.2.3.4"}, {.peer = "9.9.9.9"}), "9.9.9.9");
  EXPECT_EQ(client({"for=1.2.3.4"}, {.from = ClientFrom::forwarded, .peer = "9.9.9.9"}), "9.9.9.9");
}

TEST(Client, IsTheFirstFromTheRightThatIsNotTrusted) {
  EXPECT_EQ(client({"1.2.3.4"}), "1.2.3.4");
  EXPECT_EQ(client({"6.6.6.6, 1.2.3.4, 10.0.0.2"}), "1.2.3.4");
  EXPECT_EQ(client({"6.6.6.6,1.2.3.4,fd00::2,10.0.0.2"}), "1.2.3.4");
  EXPECT_EQ(client({"6.6.6.6", "1.2.3.4", "10.0.0.3,10.0.0.2"}), "1.2.3.4");
}

TEST(Client, WhereAllAreTrustedItIsTheLeftmost) {
  EXPECT_EQ(client({"10.0.0.4", "10.0.0.3,10.0.0.2"}), "10.0.0.4");
}

TEST(Client, OfGarbageIsTheHopThatVouchedForIt) {
  for (const char* garbage : {"unknown",
                              "_hidden",
                              "",
                              " ",
                              "\t",
                              "1.2.3",
                              "1.2.3.4.5",
                              "01.2.3.4",
                              "1.2.3.4:",
                              ":80",
                              "1.2.3.4:65536",
                              "1.2.3.4:8o",
                              "[::1",
                              "::1]",
                              "[::1]80",
                              "[::1]:",
                              "[1.2.3.4]",
                              "[]",
                              "\"1.2.3.4",
                              "1.2.3.4\"",
                              "\"",
                              "\"\"",
                              "\"1.2.3\\.4\"",
                              "1.2.3.4%eth0",
                              "fe80::1%",
                              "%eth0",
                              "fe80::g%eth0",
                              "1.2.3.4 5.6.7.8",
                              "1.2.3.4;5.6.7.8",
                              "localhost",
                              "\x80"}) {
    const std::string line = "6.6.6.6, " + std::string(garbage) + ", 10.0.0.2";
    EXPECT_EQ(client({line}), "10.0.0.2") << garbage;
    EXPECT_EQ(client({"6.6.6.6", garbage, "10.0.0.2"}), "10.0.0.2") << garbage;
    EXPECT_EQ(client({"6.6.6.6", garbage}), proxy) << garbage;
    EXPECT_EQ(client({"6.6.6.6", std::string(garbage) + ",10.0.0.2"}), "10.0.0.2") << garbage;
    const std::string element = "for=6.6.6.6, for=" + std::string(garbage) + ", for=10.0.0.2";
    if (std::string_view(garbage) == "1.2.3.4;5.6.7.8") continue;
    EXPECT_EQ(client_by_forwarded({element}), "10.0.0.2") << garbage;
  }
}

TEST(Client, PortsBracketsQuotesBlanksAndZonesAreDropped) {
  struct Row {
    const char* text;
    const char* address;
  };
  const Row rows[] = {
      {"1.2.3.4:80", "1.2.3.4"},
      {"1.2.3.4:0", "1.2.3.4"},
      {"1.2.3.4:_port", "1.2.3.4"},
      {"\"1.2.3.4:80\"", "1.2.3.4"},
      {" \t1.2.3.4\t ", "1.2.3.4"},
      {"::ffff:1.2.3.4", "1.2.3.4"},
      {"[::ffff:1.2.3.4]:80", "1.2.3.4"},
      {"[2001:db8::1]", "2001:db8::1"},
      {"[2001:db8::1]:65535", "2001:db8::1"},
      {"\"[2001:db8::1]:80\"", "2001:db8::1"},
      {"2001:db8::1", "2001:db8::1"},
      {"2001:db8::1:80", "2001:db8::1:80"},
      {"fe80::1%eth0", "fe80::1"},
      {"[fe80::1%25eth0]:80", "fe80::1"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(client({row.text}), row.address) << row.text;
    const std::string element = "for=" + std::string(row.text);
    EXPECT_EQ(client_by_forwarded({element}), row.address) << row.text;
  }
}

TEST(Client, OfForwardedIsTheOneThatForNames) {
  EXPECT_EQ(client_by_forwarded({"for=1.2.3.4;proto=http;by=10.0.0.1"}), "1.2.3.4");
  EXPECT_EQ(client_by_forwarded({"proto=https;For=\"[2001:db8:cafe::17]:4711\""}),
            "2001:db8:cafe::17");
  EXPECT_EQ(client_by_forwarded({"for=6.6.6.6, for=1.2.3.4;by=7.7.7.7 , FOR=10.0.0.2"}), "1.2.3.4");
  EXPECT_EQ(client_by_forwarded({"for=1.2.3.4;;host=\"a;b,c\";"}), "1.2.3.4");
}

TEST(Client, AnElementOfForwardedNamesOneClient) {
  for (const char* element : {"by=1.2.3.4", "for=1.2.3.4;for=1.2.3.4", "for", "1.2.3.4", ";", "=",
                              "for=1.2.3.4;x", "xfor=1.2.3.4", "for =1.2.3.4"}) {
    EXPECT_EQ(client_by_forwarded({element}), proxy) << element;
  }
}

// A mark that the client left open must not swallow what the proxy wrote behind it: the client
// would pass for the proxy.
TEST(Client, AQuoteThatIsNeverClosedEndsBeforeTheProxysElement) {
  EXPECT_EQ(client_by_forwarded({"for=\"6.6.6.6, for=1.2.3.4"}), "1.2.3.4");
  EXPECT_EQ(client_by_forwarded({"\", for=1.2.3.4;host=\"x, y\""}), "1.2.3.4");
  EXPECT_EQ(client({"\"6.6.6.6, 1.2.3.4"}), "1.2.3.4");
}

// Text of the client that a proxy repeats in quotes, escaped as it should be.
TEST(Client, WhatStandsInQuotesIsNoElement) {
  EXPECT_EQ(client_by_forwarded({R"(for=1.2.3.4;host="a\", for=6.6.6.6;x=\"b")"}), "1.2.3.4");
  EXPECT_EQ(client_by_forwarded({R"(for=6.6.6.6, for=1.2.3.4;host="a,b\\")"}), "1.2.3.4");
  EXPECT_EQ(client_by_forwarded({R"(for=1.2.3.4;host="\\\", for=6.6.6.6")"}), "1.2.3.4");
}

TEST(Client, NoMoreThanTheLastHopsAreLookedAt) {
  std::string line = "6.6.6.6";
  for (std::size_t i = 1; i < most_hops; ++i) line += ",10.0.0." + std::to_string(i);
  EXPECT_EQ(client({line}), "6.6.6.6");
  EXPECT_EQ(client({line + ",10.9.9.9"}), "10.0.0.1");
  std::string thousand = "6.6.6.6";
  for (int i = 0; i < 1'000; ++i) thousand += ",10.0.0.7";
  EXPECT_EQ(client({thousand}), "10.0.0.7");
  EXPECT_EQ(client(Lines(1'000, "10.0.0.8")), "10.0.0.8");
}

TEST(Client, AFloodOfCommasIsGarbage) {
  EXPECT_EQ(client({std::string(100'000, ',')}), proxy);
  EXPECT_EQ(client({std::string(100'000, ',') + "1.2.3.4"}), "1.2.3.4");
  EXPECT_EQ(client_by_forwarded({std::string(100'000, ',') + "for=10.0.0.2"}), "10.0.0.2");
  EXPECT_EQ(client_by_forwarded({std::string(100'000, '\\') + "\""}), proxy);
}

RC_GTEST_PROP(ClientProperty, WhatStandsToTheLeftOfTheClientChangesNothing, ()) {
  const auto byte = rc::gen::elementOf(std::string(",;=\"\\ \tfor[]:.%_16"));
  const std::string left = *rc::gen::container<std::string>(byte);
  const std::string hops = "1.2.3.4:80, 10.0.0.2";
  RC_ASSERT(client({left + "," + hops}) == "1.2.3.4");
  RC_ASSERT(client({left, hops}) == "1.2.3.4");
  const std::string elements = "for=\"1.2.3.4:80\";host=\"a,\\\"b\", for=10.0.0.2";
  RC_ASSERT(client_by_forwarded({left + "," + elements}) == "1.2.3.4");
  RC_ASSERT(client_by_forwarded({left, elements}) == "1.2.3.4");
}

RC_GTEST_PROP(ClientProperty, SeveralLinesAreOneThatCommasJoin, ()) {
  const auto hop = rc::gen::element<std::string>("10.0.0.2", " 10.0.0.3", "1.2.3.4", "", "unknown",
                                                 "[fd00::2]:1", "\"10.0.0.4\"", "10.0.0.5:99");
  const auto hops = *rc::gen::container<std::vector<std::string>>(hop);
  RC_PRE(!hops.empty());
  std::string joined;
  for (const std::string& each : hops) joined += (joined.empty() ? "" : ",") + each;
  RC_PRE(!hops.front().empty());
  RC_ASSERT(client({joined}) == client(Lines(hops.begin(), hops.end())));
}

}  // namespace
}  // namespace weir::gateway
