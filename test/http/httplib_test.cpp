// Access limits around a handler of cpp-httplib, called as its server calls it.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "test/http/manual_limits.hpp"
#include "weir/http/httplib.hpp"

namespace weir::http {
namespace {

using namespace std::chrono_literals;

class HttplibLimitTest : public testing::Test {
 protected:
  ::httplib::Server::Handler handler(HttplibVisitor visitor = {}) {
    return limited(
        limits_, R"(/topics/(\d+))",
        [this](const ::httplib::Request&, ::httplib::Response& response) {
          ++ran_;
          response.status = 200;
        },
        std::move(visitor));
  }
  static ::httplib::Response asked(const ::httplib::Server::Handler& handler,
                                   const std::string& address) {
    ::httplib::Request request;
    request.method = "GET";
    request.path = "/topics/7";
    request.remote_addr = address;
    ::httplib::Response response;
    handler(request, response);
    return response;
  }

  int ran_ = 0;
  ManualTime time_{SteadyInstant{1'000h}};
  AccessLimits limits_ = AccessLimits::of({{.method = "GET",
                                            .path = R"(/topics/(\d+))",
                                            .max_count = 1,
                                            .within = 60s,
                                            .per = Per::ip,
                                            .answer = {429, "application/json", "{}"}}},
                                          kept_under(time_));
};

TEST_F(HttplibLimitTest, WhatIsRefusedIsAnsweredAndDoesNotRun) {
  const auto behind = handler();
  EXPECT_EQ(asked(behind, "192.0.2.1").status, 200);
  const ::httplib::Response refused = asked(behind, "192.0.2.1");
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.body, "{}");
  EXPECT_EQ(refused.get_header_value("Content-Type"), "application/json");
  EXPECT_EQ(refused.get_header_value("Retry-After"), "60");
  EXPECT_EQ(asked(behind, "192.0.2.2").status, 200);
  EXPECT_EQ(ran_, 2);
}

TEST_F(HttplibLimitTest, BehindAProxyTheAddressIsWhatOneSays) {
  const auto behind = handler({.ip = [](const ::httplib::Request&) { return "2001:db8::1"; }});
  EXPECT_EQ(asked(behind, "192.0.2.1").status, 200);
  EXPECT_EQ(asked(behind, "192.0.2.2").status, 429);
}

TEST_F(HttplibLimitTest, APatternWithoutADeclarationIsNoHandler) {
  EXPECT_THROW(static_cast<void>(limited(limits_, "/topics", nullptr)), std::invalid_argument);
}

}  // namespace
}  // namespace weir::http
