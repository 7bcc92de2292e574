// What a member holds, and what it asks for.
#include "redis/share_member.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weir::redis {
namespace {

using namespace std::chrono_literals;
using Next = ShareMember::Next;

SharedRateSettings usual() {
  return {.name = "limit",
          .count = 1000,
          .period = 1s,
          .burst = 100,
          .lease = 10s,
          .members = 4,
          .seed = 7};
}

ShareMember member_of(const SharedRateSettings& settings) {
  return ShareMember(*ShareMember::configure(settings));
}

ShareRegistry::Answer shared(std::int64_t share) { return {.share = share, .members = 2}; }

const SteadyInstant start{1'000s};

TEST(AMember, HoldsNothingBeforeItsFirstAnswer) {
  SharedRateSettings settings = usual();
  settings.without = WithoutRegistry::share;
  ShareMember member = member_of(settings);
  EXPECT_EQ(member.held(start).share, 0);
  const auto request = member.ask(start, 0);
  EXPECT_EQ(request.holds, 0);
  EXPECT_EQ(member.held(start).share, 0);
}

TEST(AMember, HoldsItsShareUntilALeaseAfterItAskedLessAFiveHundredth) {
  ShareMember member = member_of(usual());
  const auto request = member.ask(start, 0);
  EXPECT_EQ(member.answered(request.asked, shared(400'000)), Next::wait);
  const SteadyInstant ends_at = start + 10s - 20ms;
  EXPECT_EQ(member.held(ends_at - 1ns), (ShareMember::Held{400'000, true, ends_at}));
  EXPECT_EQ(member.held(ends_at), ShareMember::Held{});
}

TEST(AMember, HearsTheAnswerToItsLastRequestAlone) {
  ShareMember member = member_of(usual());
  const auto first = member.ask(start, 0);
  const auto second = member.ask(start + 1s, 0);
  EXPECT_EQ(member.answered(first.asked, shared(900'000)), Next::wait);
  EXPECT_EQ(member.held(start + 1s).share, 0);
  static_cast<void>(member.answered(second.asked, shared(100'000)));
  EXPECT_EQ(member.held(start + 1s).share, 100'000);
}

TEST(AMember, ConfirmsAtOnceThatItHoldsLess) {
  ShareMember member = member_of(usual());
  static_cast<void>(member.answered(member.ask(start, 0).asked, shared(400'000)));
  const auto request = member.ask(start + 2s, 0);
  EXPECT_EQ(request.holds, 400'000);
  EXPECT_EQ(member.answered(request.asked, shared(200'000)), Next::confirm);
  const auto again = member.ask(start + 2s, 0);
  EXPECT_EQ(again.holds, 200'000);
  EXPECT_EQ(member.answered(again.asked, shared(200'000)), Next::wait);
}

TEST(AMember, ThatIsCutOffTakesAShareOfTheMostMembersItKnowsOf) {
  SharedRateSettings settings = usual();
  settings.without = WithoutRegistry::share;
  ShareMember member = member_of(settings);
  const auto request = member.ask(start, 0);
  member.failed(request.asked);
  EXPECT_EQ(member.held(start), (ShareMember::Held{250'000, false}));
  const auto second = member.ask(start, 0);
  EXPECT_EQ(second.holds, 250'000);
  static_cast<void>(member.answered(second.asked, {.share = 10'000, .members = 10}));
  EXPECT_EQ(member.held(start).share, 10'000);
  EXPECT_EQ(member.held(start + 10s), (ShareMember::Held{100'000, false}));
}

TEST(AMember, WhomALearningRegistryLeasesNothingIsCutOff) {
  SharedRateSettings settings = usual();
  settings.without = WithoutRegistry::share;
  ShareMember member = member_of(settings);
  const auto request = member.ask(start, 0);
  static_cast<void>(member.answered(request.asked, {.share = 0, .members = 1, .learns_for = 3s}));
  EXPECT_EQ(member.held(start).share, 250'000);
  const auto again = member.ask(start, 0);
  EXPECT_EQ(member.answered(again.asked, {.share = 0, .members = 1, .learns_for = 3s}), Next::wait)
      << "or it would confirm for ever that it holds what it does not lease";
}

TEST(AMember, KeepsALeaseOfNothing) {
  SharedRateSettings settings = usual();
  settings.without = WithoutRegistry::share;
  ShareMember member = member_of(settings);
  static_cast<void>(member.answered(member.ask(start, 0).asked, shared(0)));
  EXPECT_EQ(member.held(start).share, 0) << "others hold all of it";
}

TEST(AMember, WantsWhatWasAskedOfItInTheLastSpan) {
  ShareMember member = member_of(usual());
  constexpr std::int64_t one_unit_in_a_span = 500;  // 2 s of 1000/s
  EXPECT_EQ(member.ask(start, 0).wants, one_unit_in_a_span);
  EXPECT_EQ(member.ask(start + 2s, 400).wants, 200'000);
  EXPECT_EQ(member.ask(start + 4s, 100).wants, 50'000);
  EXPECT_EQ(member.ask(start + 6s, 0).wants, one_unit_in_a_span);
  EXPECT_EQ(member.ask(start + 8s, 1).wants, one_unit_in_a_span);
  EXPECT_EQ(member.ask(start + 10s, 1'000'000).wants, whole_share);
}

TEST(AMember, MeasuresNothingInASpanTooShort) {
  ShareMember member = member_of(usual());
  static_cast<void>(member.ask(start, 0));
  EXPECT_EQ(member.ask(start + 1ms, 300).wants, 500);
  EXPECT_EQ(member.ask(start + 2s, 100).wants, 200'000);
}

TEST(AMember, AsksFiveTimesInALeaseOrSooner) {
  ShareMember member = member_of(usual());
  std::chrono::nanoseconds least = 10s;
  for (int round = 0; round < 1'000; ++round) {
    const auto pause = member.ask_again_at(start) - start;
    ASSERT_LE(pause, 2s);
    least = std::min<std::chrono::nanoseconds>(least, pause);
  }
  EXPECT_GE(least, 1'600ms);
  EXPECT_LT(least, 1'700ms);
}

TEST(AMember, ThatLeavesHoldsNothingAndSaysSo) {
  ShareMember member = member_of(usual());
  const auto request = member.ask(start, 0);
  static_cast<void>(member.answered(request.asked, shared(400'000)));
  const auto last = member.leave();
  EXPECT_EQ(last.lease, Span{0});
  EXPECT_GT(last.asked, request.asked);
  EXPECT_EQ(member.held(start).share, 0);
}

TEST(AMember, IsRefusedByTheNameOfTheSetting) {
  const auto refused = [](const auto& change) {
    SharedRateSettings settings = usual();
    change(settings);
    const auto config = ShareMember::configure(settings);
    return config ? std::string() : config.error().setting;
  };
  EXPECT_EQ(refused([](auto& settings) { settings.name = ""; }), "name");
  EXPECT_EQ(refused([](auto& settings) { settings.count = 0; }), "count");
  EXPECT_EQ(refused([](auto& settings) { settings.period = 0s; }), "period");
  EXPECT_EQ(refused([](auto& settings) { settings.burst = 0; }), "burst");
  EXPECT_EQ(refused([](auto& settings) { settings.lease = 99ms; }), "lease");
  EXPECT_EQ(refused([](auto& settings) { settings.lease = 25h; }), "lease");
  EXPECT_EQ(refused([](auto& settings) { settings.members = 0; }), "members");
  EXPECT_EQ(refused([](auto&) {}), "");
}

}  // namespace
}  // namespace weir::redis
