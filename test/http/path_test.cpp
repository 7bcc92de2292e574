// One spelling for each path.
#include <gtest/gtest.h>

#include <string>

#include "weir/http/path.hpp"

namespace weir::http {
namespace {

TEST(PathOf, LeavesTheQueryOut) {
  EXPECT_EQ(path_of("/a?b=/c"), "/a");
  EXPECT_EQ(path_of("/a#b"), "/a");
  EXPECT_EQ(path_of("?a"), "/");
  EXPECT_EQ(path_of(""), "/");
  EXPECT_EQ(path_of("*"), "*");
}

TEST(PathOf, LeavesTheAuthorityOut) {
  EXPECT_EQ(path_of("http://example.org/a?b"), "/a");
  EXPECT_EQ(path_of("http://example.org"), "/");
  EXPECT_EQ(path_of("http://example.org?a=/b"), "/");
  EXPECT_EQ(path_of("/http://a"), "/http://a");
}

TEST(PathOf, SpellsOnePathInOneWay) {
  EXPECT_EQ(path_of("/%61%2D%7e"), "/a-~");
  EXPECT_EQ(path_of("/a%2fb"), "/a%2Fb");  // not /a/b, which is another path
  EXPECT_EQ(path_of("/%e5%a0%B0"), "/%E5%A0%B0");
  EXPECT_EQ(path_of("/%2561"), "/%2561");  // an escaped percent sign is no escape
}

TEST(PathOf, EscapesAPercentSignThatEscapesNothing) {
  EXPECT_EQ(path_of("/%"), "/%25");
  EXPECT_EQ(path_of("/%4"), "/%254");
  EXPECT_EQ(path_of("/%zz"), "/%25zz");
  EXPECT_EQ(path_of("/%%41"), "/%25A");
}

TEST(PathOf, DoesNothingMoreTheSecondTime) {
  for (const char* target :
       {"/%2561", "/%%36%31", "/a%2fb", "/%25%36%31", "//x", "http:///a", "/%", "/%4"}) {
    const std::string once = path_of(target);
    EXPECT_EQ(path_of(once), once) << target;
  }
}

}  // namespace
}  // namespace weir::http
