#include "weir/local/rule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace weir {
namespace {

using testing::HasSubstr;

TEST(Rules, FindALimitByItsTextAndGiveOneRuleToAllSpellings) {
  Rules rules;
  const Rule* rule = rules.find("100/s").value();
  EXPECT_EQ(rule->name, "100/1s");
  EXPECT_FALSE(rule->named);
  EXPECT_EQ(rules.find("token-bucket 100 / 1000ms burst 100").value(), rule);
  EXPECT_EQ(rules.find("gcra 100/1s").value(), rule);
  EXPECT_NE(rules.find("100/s burst 99").value(), rule);
}

TEST(Rules, FindANamedLimitByItsName) {
  Rules rules;
  const Rule* login = rules.add({"login", "5/1m"}).value();
  EXPECT_TRUE(login->named);
  EXPECT_EQ(login->name, "login");
  EXPECT_EQ(rules.find("@login").value(), login);
  // The same numbers without the name are another rule: their states never meet.
  EXPECT_NE(rules.find("5/1m").value(), login);
  EXPECT_NE(rules.find("5/1m").value()->id, login->id);
}

TEST(Rules, AreNamedInTheOrderInWhichTheyWereAdded) {
  Rules rules;
  const Rule* zebra = rules.add({"zebra", "1/s"}).value();
  (void)rules.find("7/s");
  const Rule* ant = rules.add({"ant", "2/s"}).value();
  EXPECT_THAT(rules.named(), testing::ElementsAre(zebra, ant));
  EXPECT_EQ(rules.size(), 4u);  // with CL.THROTTLE's
}

TEST(Rules, OfOneNameFollowEachOtherUnderOtherLimits) {
  Rules rules;
  const Limit five = Limit::of("5/1m");
  const Limit six = Limit::of("6/1m");
  const Rule* first = rules.follow("shop/login", five).value();
  EXPECT_EQ(rules.follow("shop/login", five).value(), first);
  const Rule* second = rules.follow("shop/login", six).value();
  EXPECT_NE(second, first);
  EXPECT_EQ(second->family, first->family);
  EXPECT_EQ(second->name, "shop/login");
  EXPECT_EQ(rules.find("@shop/login").value(), second);
  EXPECT_EQ(rules.follow("shop/login", five).value(), first) << "its states are there";
  EXPECT_EQ(rules.find("@shop/login").value(), first);
  EXPECT_NE(rules.follow("shop/other", five).value()->family, first->family);
  EXPECT_TRUE(rules.named().empty()) << "these are not the operator's names";
}

TEST(Rules, NamesThatFollowAreNoLongerThanAStoreCanBear) {
  Rules rules;
  EXPECT_FALSE(rules.follow(std::string(2049, 'x'), Limit::of("5/1m")));
}

TEST(Rules, NameNoTwoLimitsAlike) {
  Rules rules;
  ASSERT_TRUE(rules.add({"login", "5/1m"}));
  const auto again = rules.add({"login", "6/1m"});
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, HasSubstr("'login' is taken"));
  EXPECT_EQ(rules.find("@login").value()->limit.text(), "5/1m");
}

TEST(Rules, RefuseANameThatCouldNotBeWritten) {
  Rules rules;
  for (const char* name : {"", "two words", "@login", "log/in", "naïve", "a&b"}) {
    const auto made = rules.add({name, "5/1m"});
    ASSERT_FALSE(made) << name;
    EXPECT_THAT(made.error().message, HasSubstr("letters, digits"));
  }
  EXPECT_FALSE(rules.add({std::string(65, 'a'), "5/1m"}));
  EXPECT_TRUE(rules.add({std::string(64, 'a'), "5/1m"}));
  EXPECT_TRUE(rules.add({"Az09_-.:", "5/1m"}));
}

TEST(Rules, TellWhatIsWrongWithALimit) {
  Rules rules;
  const auto added = rules.add({"login", "5/1m brust 2"});
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().column, 6u);
  EXPECT_FALSE(rules.find("@login"));
  const auto found = rules.find("5/");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().column, 3u);
}

TEST(Rules, RefuseALimitThatDoesNotStartFull) {
  Rules rules;
  const auto added = rules.add({"login", "5/1m initial 0"});
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().column, 6u);
  EXPECT_THAT(added.error().message, HasSubstr("initial is for a single limiter"));
  EXPECT_FALSE(rules.find("5/1m initial 0"));
  EXPECT_TRUE(rules.find("5/1m initial 5"));  // full
}

TEST(Rules, KnowNoNameThatNobodyGave) {
  Rules rules;
  const auto found = rules.find("@login");
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("no limit has this name"));
  EXPECT_FALSE(rules.find("@"));
  EXPECT_FALSE(rules.find("@CL.THROTTLE"));
  EXPECT_FALSE(rules.find("CL.THROTTLE"));  // its states are met by CL.THROTTLE alone
}

TEST(Rules, FindsOfUnnamedLimitsAreBounded) {
  Rules rules;
  for (std::size_t at = 0; at < Rules::most_unnamed; ++at) {
    ASSERT_TRUE(rules.find(std::to_string(at + 1) + "/1s")) << at;
  }
  const auto one_more = rules.find("123456/1s");
  ASSERT_FALSE(one_more);
  EXPECT_THAT(one_more.error().message, HasSubstr("10000 different limits"));
  EXPECT_TRUE(rules.find("1/1s"));  // known ones still are
  EXPECT_TRUE(rules.add({"named", "123456/1s"}));
  EXPECT_TRUE(rules.find("@named"));
}

TEST(Rules, GiveThreadsThatRaceForALimitTheSameRule) {
  Rules rules;
  constexpr int threads = 8;
  constexpr int limits = 100;
  std::vector<std::vector<const Rule*>> found(threads);
  std::vector<std::thread> running;
  for (int thread = 0; thread < threads; ++thread) {
    running.emplace_back([&, thread] {
      for (int at = 1; at <= limits; ++at) {
        found[static_cast<std::size_t>(thread)].push_back(
            rules.find(std::to_string(at) + "/1s").value());
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  for (const auto& of_thread : found) EXPECT_EQ(of_thread, found[0]);
  EXPECT_EQ(rules.size(), limits + 1u);
}

}  // namespace
}  // namespace weir
