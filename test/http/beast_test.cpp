// Access limits before a handler of Boost.Beast.
#include <gtest/gtest.h>

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/serializer.hpp>
#include <string>

#include "test/http/manual_limits.hpp"
#include "weir/http/beast.hpp"

namespace weir::http {
namespace {

namespace beast = boost::beast::http;
using namespace std::chrono_literals;
using Request = beast::request<beast::empty_body>;

class BeastLimitTest : public testing::Test {
 protected:
  auto asked(beast::verb method, const std::string& target) {
    Request request(method, target, 11);
    return refusal(limits_, request, {.user = "alice", .ip = "192.0.2.1"});
  }

  ManualTime time_{SteadyInstant{1'000h}};
  AccessLimits limits_ = AccessLimits::of({{.method = "GET",
                                            .path = "/search",
                                            .max_count = 1,
                                            .within = 60s,
                                            .answer = {429, "application/json", "{}"}}},
                                          kept_under(time_));
};

TEST_F(BeastLimitTest, ARefusalIsAWholeResponse) {
  EXPECT_FALSE(asked(beast::verb::get, "/search?q=a"));
  const auto refused = asked(beast::verb::get, "/search?q=b");
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->result_int(), 429U);
  EXPECT_EQ(refused->version(), 11U);
  EXPECT_TRUE(refused->keep_alive());
  EXPECT_EQ((*refused)[beast::field::content_type], "application/json");
  EXPECT_EQ((*refused)[beast::field::content_length], "2");
  EXPECT_EQ((*refused)[beast::field::retry_after], "60");
  EXPECT_EQ((*refused)["RateLimit"], R"("GET /search";r=0;t=60)");
  EXPECT_EQ(refused->body(), "{}");
}

TEST_F(BeastLimitTest, AnotherSpellingOfThePathIsTheSamePath) {
  EXPECT_FALSE(asked(beast::verb::get, "/search"));
  EXPECT_TRUE(asked(beast::verb::get, "/%73earch"));
  EXPECT_TRUE(asked(beast::verb::get, "http://example.org/search"));
}

TEST_F(BeastLimitTest, HeadIsAnsweredWithTheLengthAndNoBody) {
  EXPECT_FALSE(asked(beast::verb::get, "/search"));
  const auto refused = asked(beast::verb::head, "/search");
  ASSERT_TRUE(refused);
  EXPECT_EQ((*refused)[beast::field::content_length], "2");
  EXPECT_EQ(refused->body(), "");
}

TEST_F(BeastLimitTest, AHandlerWithoutALimitIsLetThrough) {
  for (int call = 0; call < 10; ++call) EXPECT_FALSE(asked(beast::verb::get, "/about"));
}

}  // namespace
}  // namespace weir::http
