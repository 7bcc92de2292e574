#include "redis/url.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weir::redis {
namespace {

void expect_url(std::string_view text, const Url& expected) {
  const auto url = parse_url(text);
  ASSERT_TRUE(url) << text << ": column " << url.error().column << ": " << url.error().message;
  EXPECT_EQ(*url, expected) << text << " was read as " << print(*url);
}

void expect_error(std::string_view text, std::size_t column, std::string_view words) {
  const auto url = parse_url(text);
  ASSERT_FALSE(url) << text;
  EXPECT_EQ(url.error().column, column) << text << ": " << url.error().message;
  EXPECT_NE(url.error().message.find(words), std::string::npos)
      << text << ": " << url.error().message;
}

TEST(RedisUrl, EveryKindIsRead) {
  using Kind = Url::Kind;
  constexpr auto tls = Url::Transport::tls;
  expect_url("redis://localhost", {.nodes = {{"localhost", 6379}}});
  expect_url("redis://localhost/", {.nodes = {{"localhost", 6379}}});
  expect_url("redis://10.0.0.1:7000/3", {.nodes = {{"10.0.0.1", 7000}}, .db = 3});
  expect_url("redis://[2001:db8::7]:7000?db=3", {.nodes = {{"2001:db8::7", 7000}}, .db = 3});
  expect_url("rediss://limits:s3cret@a",
             {.transport = tls, .nodes = {{"a", 6379}}, .user = "limits", .password = "s3cret"});
  expect_url("redis://:s%40%2f%3a@a", {.nodes = {{"a", 6379}}, .password = "s@/:"});
  expect_url("redis://:p@ss@a", {.nodes = {{"a", 6379}}, .password = "p@ss"});
  expect_url("redis://u@a?password-file=/run/secret",
             {.nodes = {{"a", 6379}}, .user = "u", .password_file = "/run/secret"});
  expect_url("unix:///run/redis.sock", {.kind = Kind::unix_socket, .path = "/run/redis.sock"});
  expect_url("unix://u:p@/a@b%3f?db=2",
             {.kind = Kind::unix_socket, .path = "/a@b?", .user = "u", .password = "p", .db = 2});
  expect_url("redis+sentinel://a,b:7,[::1]/mymaster/4",
             {.kind = Kind::sentinel,
              .nodes = {{"a", 26379}, {"b", 7}, {"::1", 26379}},
              .master = "mymaster",
              .db = 4});
  expect_url("rediss+cluster://a,b:7/",
             {.kind = Kind::cluster, .transport = tls, .nodes = {{"a", 6379}, {"b", 7}}});
}

TEST(RedisUrl, AnErrorNamesTheColumnAndWhatWasExpected) {
  expect_error("", 1, "redis://");
  expect_error("http://a", 1, "redis://");
  expect_error("redis://", 9, "a host");
  expect_error("redis://a:", 10, "a port");
  expect_error("redis://a:0", 10, "1 to 65535");
  expect_error("redis://a:65536", 10, "1 to 65535");
  expect_error("redis://a:6379x", 10, "1 to 65535");
  expect_error("redis://a,b", 10, "one server");
  expect_error("redis://[::1", 9, "']'");
  expect_error("redis://[::1]7", 14, "a port");
  expect_error("redis://::1", 9, "a host");
  expect_error("redis://a/x", 11, "a database");
  expect_error("redis://a/-1", 11, "a database");
  expect_error("redis://a/2147483648", 11, "a database");
  expect_error("redis://a/1?db=1", 16, "one database");
  expect_error("redis://a?bd=1", 11, "db= or password-file=");
  expect_error("redis://a?", 11, "db= or password-file=");
  expect_error("redis://a?db=1&", 16, "db= or password-file=");
  expect_error("redis://u@a", 10, "a password");
  expect_error("redis://@a", 9, "USER:PASSWORD");
  expect_error("redis://u:@a", 11, "a password");
  expect_error("redis://:p@a?password-file=/f", 14, "one password");
  expect_error("redis://a?password-file=", 25, "a file");
  expect_error("redis://:p%4@a", 11, "two digits");
  expect_error("redis://:p%00@a", 11, "no NUL");
  expect_error("redis://:p w@a", 11, "printable");
  expect_error("unix://run/redis.sock", 8, "begins with '/'");
  expect_error("unix:///" + std::string(107, 'a'), 8, "107 bytes");
  expect_error("redis+sentinel://a", 19, "the master's name");
  expect_error("redis+sentinel://a/", 20, "the master's name");
  expect_error("redis+sentinel://a,/m", 20, "a host");
  expect_error("redis+cluster://a/1", 19, "no database");
  expect_error("redis+cluster://a?db=1", 19, "no database");
  expect_error("redis://" + std::string(5000, 'a'), 4097, "4096 bytes");
}

TEST(RedisUrl, NoMoreServersAreNamedThanAllowed) {
  std::string text = "redis+cluster://a";
  for (std::size_t i = 1; i < Url::most_nodes; ++i) text += ",a";
  EXPECT_TRUE(parse_url(text));
  expect_error(text + ",a", text.size() + 2, "64 servers");
}

TEST(RedisUrl, WhatIsPrintedIsReadAgainWithoutThePassword) {
  for (const std::string_view text :
       {"redis://limits:s3cret@[::1]:7000/3", "rediss://:s3cret@a?password-file=",
        "unix://u:s3cret@/run/a%20b?db=2", "redis+sentinel://u:s3cret@a,b:7/my%2Fmaster/4",
        "redis+cluster://:s3cret@a,b", "redis://u@a/1?password-file=/run/x%26y"}) {
    const auto url = parse_url(text);
    if (!url) continue;
    const std::string printed = print(*url);
    EXPECT_EQ(printed.find("s3cret"), std::string::npos) << printed;
    Url hidden = *url;
    if (!hidden.password.empty()) hidden.password = "***";
    expect_url(printed, hidden);
    EXPECT_EQ(print(hidden), printed);
  }
}

TEST(RedisUrl, NoErrorRepeatsThePassword) {
  const std::string text = "redis://u:s3cret@a:6379/1?password-file=x";
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char put : {'@', '%', ':', '/', '?', ' ', '[', '\0', ','}) {
      std::string bad = text;
      bad[i] = put;
      const auto url = parse_url(bad);
      if (url) continue;
      EXPECT_EQ(url.error().message.find("s3"), std::string::npos) << bad;
      EXPECT_LE(url.error().column, bad.size() + 1) << bad;
    }
  }
}

}  // namespace
}  // namespace weir::redis
