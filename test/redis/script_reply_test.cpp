// What a reply says, and that any other is turned down.
#include "redis/script_reply.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "test/redis/virtual_store.hpp"

namespace weir::redis {
namespace {

constexpr std::int64_t now = 1'750'000'000'000'000;
constexpr std::int64_t far = std::int64_t{1} << 53;

const std::vector<std::int64_t> granted{0, now, now, 5, 4, now + 9, 0, now + 9, 3};

Expected<Told, Trouble> read(std::vector<std::int64_t> integers, std::size_t keys = 1) {
  return read_told(integers_reply(std::move(integers)),
                   std::vector<ToldKey>(keys, ToldKey{.cost = 1, .terms = 1}));
}

TEST(ScriptReply, TellsTheDecisionAndTheGrant) {
  const auto told = read(granted);
  ASSERT_TRUE(told);
  const Instant at{Span{now}};
  EXPECT_EQ(told->decision, (Decision{Verdict::granted, at, 5, 4, at + Span{9}}));
  EXPECT_EQ(told->decided_at, at);
  ASSERT_EQ(told->grants.size(), 1u);
  EXPECT_EQ(told->grants[0].cost, 1);
  EXPECT_EQ(told->grants[0].turn, Turn::joint);
  EXPECT_EQ(told->grants[0].marks[0], (FineInstant{at + Span{9}, 3}));
  EXPECT_EQ(told_marks(told->grants[0], 1), (std::vector<std::int64_t>{now + 9, 3}));
}

TEST(ScriptReply, TellsNeverAndNeverSeenAsWeDo) {
  auto reply = granted;
  reply[0] = 3;
  reply[2] = -1;
  const auto impossible = read(reply);
  ASSERT_TRUE(impossible);
  EXPECT_EQ(impossible->decision.ready_at, never);
  EXPECT_TRUE(impossible->grants.empty());
  reply = granted;
  reply[7] = -far;
  reply[8] = 0;
  const auto seen = read(reply);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->grants[0].marks[0], FineInstant{});
  EXPECT_EQ(told_marks(seen->grants[0], 1)[0], -far);
}

TEST(ScriptReply, IsTurnedDownWhereAnyFieldIsOutOfRange) {
  struct Bad {
    std::size_t field;
    std::int64_t value;
  };
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const auto& [field, value] : std::vector<Bad>{
           {0, -1},    {0, 4},     {0, 256},     {0, most},    {0, least}, {1, far},
           {1, least}, {1, most},  {2, -1},      {2, now - 1}, {2, far},   {2, most},
           {3, -1},    {3, most},  {3, far + 1}, {4, -1},      {4, least}, {4, far + 1},
           {5, far},   {5, least}, {6, -1},      {6, 1},       {6, most},  {7, far + 1},
           {7, least}, {8, most},  {8, -far - 1}}) {
    auto reply = granted;
    reply[field] = value;
    const auto told = read(reply);
    ASSERT_FALSE(told) << "field " << field << " is " << value;
    EXPECT_EQ(told.error().kind, TroubleKind::garbled);
  }
}

TEST(ScriptReply, IsTurnedDownWhereItHasAnotherLength) {
  for (std::size_t length = 0; length < 20; ++length) {
    auto reply = granted;
    reply.resize(length, now);
    EXPECT_EQ(read(reply).has_value(), length == 9) << length;
    EXPECT_EQ(read(reply, 2).has_value(), length == 11) << length;
  }
}

TEST(ScriptReply, IsTurnedDownWhereItIsNoList) {
  const std::vector<ToldKey> keys{{.cost = 1, .terms = 1}};
  for (const StoreReply::Kind kind : {StoreReply::Kind::none, StoreReply::Kind::text}) {
    const auto told = read_told({CallOutcome::answered, kind, {}, "OK"}, keys);
    ASSERT_FALSE(told);
    EXPECT_EQ(told.error().kind, TroubleKind::garbled);
  }
  for (const auto& integers : {std::vector<std::int64_t>{}, {-1}, {far + 1}, {1, 2}}) {
    EXPECT_FALSE(read_number(integers_reply(integers)));
  }
  EXPECT_EQ(*read_number(integers_reply({far})), far);
}

TEST(Trouble, IsToldByHowACallEnded) {
  const auto kind = [](CallOutcome outcome) {
    return trouble_of({outcome, StoreReply::Kind::none, {}, "why"}).kind;
  };
  EXPECT_EQ(kind(CallOutcome::answered), TroubleKind::none);
  EXPECT_EQ(kind(CallOutcome::timed_out), TroubleKind::timed_out);
  EXPECT_EQ(kind(CallOutcome::indeterminate), TroubleKind::timed_out);
  EXPECT_EQ(kind(CallOutcome::not_sent), TroubleKind::unreachable);
}

TEST(Trouble, IsToldByWhatAnErrorSays) {
  const auto kind = [](const char* text) { return trouble_of(error_reply(text)).kind; };
  for (const char* text : {"LOADING Redis is loading", "CLUSTERDOWN Hash slot not served",
                           "OOM command not allowed", "READONLY You can't write", "BUSY Redis is",
                           "TRYAGAIN Multiple keys", "MASTERDOWN Link", "NOSCRIPT No matching"}) {
    EXPECT_EQ(kind(text), TroubleKind::unavailable) << text;
  }
  for (const char* text : {"WRONGTYPE weir: key k", "NOPERM No permissions", "NOAUTH needed",
                           "ERR weir: 'x' is no limit", "CROSSSLOT Keys", ""}) {
    EXPECT_EQ(kind(text), TroubleKind::refused) << text;
  }
}

}  // namespace
}  // namespace weir::redis
