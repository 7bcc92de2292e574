// What access limits decide, and what is answered in a handler's place.
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "test/http/manual_limits.hpp"

namespace weir::http {
namespace {

using namespace std::chrono_literals;

constexpr Visit alice_replies{
    .method = "POST", .path = "/reply", .user = "alice", .ip = "192.0.2.1"};

class AccessLimitTest : public testing::Test {
 protected:
  AccessLimits limits(std::vector<AccessLimit> declared) {
    return AccessLimits::of(std::move(declared), kept_under(time_));
  }
  AccessLimits once_a_minute(Per per) {
    return limits({{.path = "/reply", .max_count = 1, .within = 60s, .per = per},
                   {.path = "/other", .max_count = 1, .within = 60s, .per = per}});
  }

  ManualTime time_{SteadyInstant{1'000h}};
};

TEST_F(AccessLimitTest, ThatManyPassAndTheNextIsAnsweredInTheHandlersPlace) {
  const auto declared = limits({{.method = "POST",
                                 .path = "/reply",
                                 .max_count = 5,
                                 .within = 60s,
                                 .answer = {429, "application/json", R"({"msg":"take a rest"})"}}});
  for (int call = 0; call < 5; ++call) EXPECT_FALSE(declared.decide(alice_replies)) << call;
  time_.advance(59'500ms);
  const auto refused = declared.decide(alice_replies);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->why, Why::over_limit);
  EXPECT_EQ(refused->reply.status, 429U);
  EXPECT_EQ(refused->reply.content_type, "application/json");
  EXPECT_EQ(refused->reply.body, R"({"msg":"take a rest"})");
  EXPECT_EQ(field(refused->reply, "Retry-After"), "1");  // half a second, rounded up
  EXPECT_EQ(field(refused->reply, "RateLimit-Policy"), R"("POST /reply";q=5;w=60)");
  EXPECT_EQ(field(refused->reply, "RateLimit"), R"("POST /reply";r=0;t=1)");
}

TEST_F(AccessLimitTest, WhoComesAsRetryAfterSaysPasses) {
  const auto declared = limits({{.path = "/reply", .limit = "3/7s burst 1"}});
  for (int round = 0; round < 20; ++round) {
    EXPECT_FALSE(declared.decide(alice_replies));
    const auto refused = declared.decide(alice_replies);
    ASSERT_TRUE(refused);
    const std::string told = field(refused->reply, "Retry-After");
    int seconds = 0;
    std::from_chars(told.data(), told.data() + told.size(), seconds);
    ASSERT_GT(seconds, 0);
    time_.advance(std::chrono::seconds(seconds));
  }
}

TEST_F(AccessLimitTest, OfSeveralTermsOnlyTheTimeIsTold) {
  const auto declared = limits({{.path = "/reply", .limit = "1/1s & 100/1d"}});
  EXPECT_FALSE(declared.decide(alice_replies));
  const auto refused = declared.decide(alice_replies);
  ASSERT_TRUE(refused);
  ASSERT_EQ(refused->reply.fields.size(), 1U);
  EXPECT_EQ(field(refused->reply, "Retry-After"), "1");
}

TEST_F(AccessLimitTest, AWindowOfTheCalendarHasNoLengthToTell) {
  const auto in_a_store = [](std::string_view) -> Take {
    return [](std::string_view) -> Taken { return {.retry_after = std::chrono::hours(9)}; };
  };
  const auto declared =
      AccessLimits::of({{.path = "/reply", .limit = "calendar-window 1/month"}}, in_a_store);
  const auto refused = declared.decide(alice_replies);
  ASSERT_TRUE(refused);
  EXPECT_EQ(field(refused->reply, "RateLimit-Policy"), R"("any /reply";q=1)");
}

TEST_F(AccessLimitTest, AWindowOfTheCalendarIsRefusedWhereThisProcessKeepsTheCounts) {
  EXPECT_THROW(limits({{.path = "/reply", .limit = "calendar-window 1/month"}}),
               std::invalid_argument);
}

TEST_F(AccessLimitTest, AHandlerWithoutADeclarationIsLetThroughAndCountsNothing) {
  int asked = 0;
  const auto declared = AccessLimits::of({{.method = "POST", .path = "/reply", .limit = "1/1m"}},
                                         [&asked](std::string_view) -> Take {
                                           return [&asked](std::string_view) -> Taken {
                                             ++asked;
                                             return {};
                                           };
                                         });
  EXPECT_FALSE(declared.decide({.method = "POST", .path = "/replies"}));
  EXPECT_FALSE(declared.decide({.method = "GET", .path = "/reply"}));
  EXPECT_FALSE(declared.decide({.method = "POST", .path = "/reply", .route = "/r"}));
  EXPECT_FALSE(declared.decide({}));
  EXPECT_EQ(asked, 0);
  EXPECT_TRUE(declared.decide({.method = "POST", .path = "/r/7", .route = "/reply"}));
  EXPECT_EQ(asked, 1);
}

TEST_F(AccessLimitTest, WhoIsNotLoggedInIsToldSoAndCountsNothing) {
  const auto declared = limits(
      {{.path = "/reply", .max_count = 1, .within = 60s, .per = Per::uri, .need_login = true}});
  for (int call = 0; call < 10; ++call) {
    const auto refused = declared.decide({.method = "POST", .path = "/reply", .ip = "192.0.2.1"});
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->why, Why::not_logged_in);
    EXPECT_EQ(refused->reply.status, 401U);
    EXPECT_EQ(field(refused->reply, "WWW-Authenticate"), "Bearer");
    EXPECT_EQ(field(refused->reply, "Retry-After"), "");
  }
  EXPECT_FALSE(declared.decide(alice_replies));
  EXPECT_TRUE(declared.decide(alice_replies));
}

TEST_F(AccessLimitTest, HeadIsNoWayAroundTheLimitOfGet) {
  const auto declared = limits({{.method = "GET", .path = "/reply", .limit = "1/1m"}});
  EXPECT_FALSE(declared.decide({.method = "GET", .path = "/reply"}));
  EXPECT_TRUE(declared.decide({.method = "HEAD", .path = "/reply"}));
}

TEST_F(AccessLimitTest, AMethodsOwnLimitGoesBeforeThatOfAny) {
  const auto declared = limits({{.path = "/reply", .limit = "1/1m"},
                                {.method = "GET", .path = "/reply", .limit = "2/1m"},
                                {.method = "HEAD", .path = "/reply", .limit = "3/1m"}});
  const auto let_through = [&](std::string_view method) {
    int count = 0;
    while (!declared.decide({.method = method, .path = "/reply"})) ++count;
    return count;
  };
  EXPECT_EQ(let_through("GET"), 2);
  EXPECT_EQ(let_through("HEAD"), 3);
  EXPECT_EQ(let_through("PUT"), 1);
  EXPECT_EQ(let_through("DELETE"), 0);  // with PUT's: both are any
}

// ---- Keys ----

TEST_F(AccessLimitTest, CountsTogetherWhatItWasToldTo) {
  // The second visit after the first: is it another key?
  const Visit first{.method = "POST", .path = "/a", .route = "/reply", .user = "u", .ip = "1"};
  Visit other_path = first;
  other_path.path = "/b";
  Visit other_user = first;
  other_user.user = "v";
  Visit other_ip = first;
  other_ip.ip = "2";
  Visit other_route = first;
  other_route.route = "/other";
  struct Row {
    Per per;
    bool path, user, ip;
  };
  for (const Row& row :
       {Row{Per::uri, true, false, false}, Row{Per::user, false, true, false},
        Row{Per::uri_and_user, true, true, false}, Row{Per::ip, false, false, true}}) {
    const auto passes = [&](const Visit& second) {
      const auto declared = once_a_minute(row.per);
      EXPECT_FALSE(declared.decide(first));
      EXPECT_TRUE(declared.decide(first));
      return !declared.decide(second);
    };
    SCOPED_TRACE(static_cast<int>(row.per));
    EXPECT_EQ(passes(other_path), row.path);
    EXPECT_EQ(passes(other_user), row.user);
    EXPECT_EQ(passes(other_ip), row.ip);
    EXPECT_TRUE(passes(other_route));
  }
}

TEST_F(AccessLimitTest, WhoIsNotLoggedInCountsByAddressAndNeverAsAUser) {
  const auto declared = once_a_minute(Per::user);
  const auto passes = [&](Visit visit) {
    visit.path = "/reply";
    return !declared.decide(visit);
  };
  EXPECT_TRUE(passes({.ip = "192.0.2.1"}));
  EXPECT_FALSE(passes({.ip = "192.0.2.1"}));
  EXPECT_TRUE(passes({.ip = "192.0.2.2"}));
  EXPECT_TRUE(passes({.user = "192.0.2.1", .ip = "192.0.2.1"}));
  EXPECT_TRUE(passes({.user = "@192.0.2.1", .ip = "192.0.2.1"}));
  EXPECT_TRUE(passes({.user = "=192.0.2.1", .ip = "192.0.2.1"}));
}

TEST_F(AccessLimitTest, NoTwoVisitsMeetWhateverBytesTheyAreMadeOf) {
  // Short texts of the few bytes that keys are joined with: most joins would let some meet.
  const std::string bytes("/:=@1|2\0", 8);
  std::mt19937_64 random(7);
  const auto text = [&](std::size_t least) {
    std::string made;
    for (std::size_t size = least + random() % 4; made.size() < size;) {
      made += bytes[random() % bytes.size()];
    }
    return made;
  };
  std::map<std::string, std::tuple<std::string, std::string, std::string>> seen;
  std::string key;
  const auto declared =
      AccessLimits::of({{.path = "/reply", .limit = "1/1m"}, {.path = "/reply1", .limit = "1/1m"}},
                       [&key](std::string_view) -> Take {
                         return [&key](std::string_view asked) -> Taken {
                           key = asked;
                           return {.admitted = true};
                         };
                       });
  for (int visit = 0; visit < 20'000; ++visit) {
    const std::string route = random() % 2 == 0 ? "/reply" : "/reply1";
    const std::string path = text(0);
    const std::string user = text(1);
    static_cast<void>(declared.decide({.path = path, .route = route, .user = user}));
    const std::tuple who(route, path, user);
    const auto [at, fresh] = seen.try_emplace(key, who);
    ASSERT_TRUE(fresh || at->second == who) << key;
  }
  EXPECT_GT(seen.size(), 10'000U);
}

TEST_F(AccessLimitTest, LongKeysAreBoundedAndMeetNoneThatIsWhole) {
  std::size_t longest = 0;
  const auto declared =
      AccessLimits::of({{.path = "/reply", .limit = "1/1m"}}, [&longest](std::string_view) -> Take {
        return [&longest](std::string_view key) -> Taken {
          longest = std::max(longest, key.size());
          return {.admitted = true};
        };
      });
  const std::string user(100'000, 'u');
  EXPECT_FALSE(declared.decide({.path = "/reply", .user = user}));
  EXPECT_EQ(longest, AccessLimits::longest_key + 1);
}

TEST_F(AccessLimitTest, AKeyOfOnesOwnIsAskedForOnce) {
  int asked = 0;
  const auto declared = limits({{.path = "/reply", .limit = "1/1m", .key = [&](const Visit& visit) {
                                   ++asked;
                                   return std::string(visit.user.substr(0, 1));
                                 }}});
  EXPECT_FALSE(declared.decide(alice_replies));
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(declared.decide({.path = "/reply", .user = "anna"}));
  EXPECT_FALSE(declared.decide({.path = "/reply", .user = "bob"}));
}

// ---- Answers ----

TEST_F(AccessLimitTest, AFunctionWordsBothAnswers) {
  const auto words = [](const TurnedAway& who) -> Reply {
    if (who.why == Why::not_logged_in) return {403, "text/plain", "who are you?"};
    return {200, "text/plain",
            std::string(who.visit.user) + ": " + std::to_string(who.retry_after->count()) + " s"};
  };
  const auto declared =
      limits({{.path = "/reply", .limit = "1/1m", .need_login = true, .answer_by = words}});
  EXPECT_EQ(declared.decide({.path = "/reply"})->reply.body, "who are you?");
  EXPECT_FALSE(declared.decide(alice_replies));
  const auto refused = declared.decide(alice_replies);
  EXPECT_EQ(refused->reply.body, "alice: 60 s");
  EXPECT_EQ(refused->reply.status, 200U);
  EXPECT_EQ(field(refused->reply, "Retry-After"), "60");
}

TEST_F(AccessLimitTest, WhereNobodyKnowsWhenThereIsNoRetryAfter) {
  const auto declared =
      AccessLimits::of({{.path = "/reply", .limit = "1/1m"}}, [](std::string_view) -> Take {
        return [](std::string_view) -> Taken {
          return {.retry_after = std::chrono::nanoseconds::max()};
        };
      });
  const auto refused = declared.decide(alice_replies);
  ASSERT_TRUE(refused);
  EXPECT_EQ(field(refused->reply, "Retry-After"), "");
  EXPECT_EQ(field(refused->reply, "RateLimit"), R"("any /reply";r=0)");
}

TEST_F(AccessLimitTest, WhereNobodyCountsItIsNotTheCallersDoing) {
  const auto declared =
      AccessLimits::of({{.path = "/reply", .limit = "1/1m"}}, [](std::string_view) -> Take {
        return [](std::string_view) -> Taken { return {.retry_after = 1s, .unavailable = true}; };
      });
  const auto refused = declared.decide(alice_replies);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->why, Why::unavailable);
  EXPECT_EQ(refused->reply.status, 503U);
  ASSERT_EQ(refused->reply.fields.size(), 1U);
  EXPECT_EQ(field(refused->reply, "Retry-After"), "1");
}

TEST_F(AccessLimitTest, WhatADeclarationsFunctionThrowsIsNoPass) {
  const auto declared =
      limits({{.path = "/reply", .limit = "1/1m", .key = [](const Visit&) -> std::string {
                 throw std::runtime_error("no session");
               }}});
  EXPECT_THROW(static_cast<void>(declared.decide(alice_replies)), std::runtime_error);
}

TEST_F(AccessLimitTest, ACopyCountsWithTheOriginal) {
  const auto declared = once_a_minute(Per::user);
  const AccessLimits copy = declared;  // NOLINT(performance-unnecessary-copy-initialization)
  EXPECT_FALSE(declared.decide(alice_replies));
  EXPECT_TRUE(copy.decide(alice_replies));
}

}  // namespace
}  // namespace weir::http
