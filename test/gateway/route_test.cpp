#include "gateway/route.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weir::gateway {
namespace {

TEST(Route, IsOneForAllSpellingsOfAPath) {
  for (const char* target : {"/login", "/login?x=1", "/login#a", "//login", "/./login", "/%6cogin",
                             "/x/../login", "/../../login", "/x//.//..///login",
                             "http://shop/login?x", "/%2e/login", "/a/%2E%2e/login"}) {
    EXPECT_EQ(route_of(target), "/login") << target;
  }
  EXPECT_EQ(route_of("/login/"), "/login/") << "another path to most servers";
  EXPECT_EQ(route_of("/api/x/.."), "/api/");
  EXPECT_EQ(route_of("/api/x/."), "/api/x/");
  EXPECT_EQ(route_of("/a%2fb"), "/a%2Fb") << "no slash";
  EXPECT_EQ(route_of("/a%"), "/a%25");
  EXPECT_EQ(route_of(""), "/");
  EXPECT_EQ(route_of("/.."), "/");
  EXPECT_EQ(route_of("*"), "/*");
}

TEST(Host, IsOneForAllSpellingsOfAName) {
  std::string scratch;
  for (const char* said : {"shop.example", "SHOP.example", "shop.example.", "shop.example:8080",
                           "Shop.Example.:8080", "shop.example:"}) {
    EXPECT_EQ(host_of(said, scratch), "shop.example") << said;
  }
  EXPECT_EQ(host_of("[2001:DB8::1]:80", scratch), "[2001:db8::1]");
  EXPECT_EQ(host_of("[::1]", scratch), "[::1]");
  EXPECT_EQ(host_of("2001:db8::1", scratch), "2001:db8::1");
  EXPECT_EQ(host_of("shop.example:x", scratch), "shop.example:x");
  EXPECT_EQ(host_of(":80", scratch), "");
  EXPECT_EQ(host_of("", scratch), "");
}

RC_GTEST_PROP(Route, OfARouteIsItself, ()) {
  const auto text = *rc::gen::container<std::string>(
      rc::gen::element('/', '.', '%', '2', 'e', 'f', 'a', '?', 'Z', '\x80'));
  const std::string route = route_of(text);
  RC_ASSERT(route_of(route) == route);
  RC_ASSERT(route.starts_with('/'));
  RC_ASSERT(route.find("//") == std::string::npos);
  RC_ASSERT(route.find("/../") == std::string::npos);
}

}  // namespace
}  // namespace weir::gateway
