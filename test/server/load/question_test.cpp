#include "test/server/load/question.hpp"

#include <gtest/gtest.h>

#include <map>

#include "test/server/load/key_chooser.hpp"

namespace weir::load {
namespace {

const std::string throttle_answer = "*5\r\n:1\r\n:16\r\n:0\r\n:2\r\n:32\r\n";
const std::string take_answer =
    "*14\r\n$7\r\nverdict\r\n+granted\r\n$5\r\nlimit\r\n:16\r\n$9\r\nremaining\r\n:15\r\n"
    "$14\r\nretry_after_us\r\n:0\r\n$14\r\nready_after_us\r\n:0\r\n$14\r\nreset_after_us\r\n"
    ":2000000\r\n$5\r\ngrant\r\n$3\r\na:1\r\n";

TEST(AQuestion, IsAnArrayOfBulkStrings) {
  std::string bytes;
  EncodedQuestion(throttle({.max_burst = 15, .count = 30, .period_s = 60})).append(bytes, "k:1");
  EXPECT_EQ(bytes, "*5\r\n$11\r\nCL.THROTTLE\r\n$3\r\nk:1\r\n$2\r\n15\r\n$2\r\n30\r\n$2\r\n60\r\n");
  bytes.clear();
  EncodedQuestion(take("10/s burst 5")).append(bytes, "");
  EXPECT_EQ(bytes, "*3\r\n$9\r\nWEIR.TAKE\r\n$0\r\n\r\n$12\r\n10/s burst 5\r\n");
}

TEST(AnAnswer, OfThrottleIsReadFromFiveIntegers) {
  const ReadAnswer read = read_answer(throttle_answer + ":7\r\n", AnswerForm::throttle);
  ASSERT_EQ(read.reading, Reading::complete);
  EXPECT_EQ(read.consumed, throttle_answer.size());
  EXPECT_EQ(
      read.answer,
      (Answer{
          .admitted = false, .limit = 16, .remaining = 0, .retry_after = 2, .reset_after = 32}));
}

TEST(AnAnswer, OfTakeIsReadFromFieldsInAnyOrder) {
  const ReadAnswer read = read_answer(take_answer, AnswerForm::take);
  ASSERT_EQ(read.reading, Reading::complete) << read.complaint;
  EXPECT_EQ(read.consumed, take_answer.size());
  EXPECT_EQ(read.answer, (Answer{.admitted = true,
                                 .limit = 16,
                                 .remaining = 15,
                                 .retry_after = 0,
                                 .reset_after = 2'000'000}));
}

TEST(AnAnswer, OfTakeThatGrantedNothingMayHaveNoGrant) {
  std::string denied = take_answer;
  denied.replace(denied.find("+granted"), 8, "$6\r\ndenied");
  denied.replace(denied.find("$3\r\na:1"), 7, "$-1");
  const ReadAnswer read = read_answer(denied, AnswerForm::take);
  ASSERT_EQ(read.reading, Reading::complete) << read.complaint;
  EXPECT_EQ(read.consumed, denied.size());
  EXPECT_FALSE(read.answer.admitted);
}

TEST(AnAnswer, CutAnywhereIsIncomplete) {
  for (std::size_t size = 0; size < throttle_answer.size(); ++size) {
    EXPECT_EQ(read_answer(throttle_answer.substr(0, size), AnswerForm::throttle).reading,
              Reading::incomplete)
        << size;
  }
  for (std::size_t size = 0; size < take_answer.size(); ++size) {
    EXPECT_EQ(read_answer(take_answer.substr(0, size), AnswerForm::take).reading,
              Reading::incomplete)
        << size;
  }
}

TEST(AnAnswer, ThatIsAnErrorIsRefusedWithItsText) {
  const ReadAnswer read = read_answer("-ERR no such limit\r\n", AnswerForm::take);
  EXPECT_EQ(read.reading, Reading::refused);
  EXPECT_EQ(read.complaint, "-ERR no such limit\r\n");
}

TEST(AnAnswer, OfAnotherFormIsRefused) {
  for (const char* bytes :
       {"*4\r\n:0\r\n:1\r\n:1\r\n:1\r\n", "*5\r\n:2\r\n:1\r\n:1\r\n:1\r\n:1\r\n", ":1\r\n",
        "*-1\r\n", "*100\r\n", "*5\r\n:x\r\n:1\r\n:1\r\n:1\r\n:1\r\n", "*5\r\n*0\r\n", "$-1\r\n",
        "\r\n", "*5\r\n\r\n"}) {
    EXPECT_EQ(read_answer(bytes, AnswerForm::throttle).reading, Reading::refused) << bytes;
  }
  std::string unknown = take_answer;
  unknown.replace(unknown.find("granted"), 7, "grantee");
  EXPECT_EQ(read_answer(unknown, AnswerForm::take).reading, Reading::refused);
  std::string renamed = take_answer;
  renamed.replace(renamed.find("ready"), 5, "reddy");
  EXPECT_EQ(read_answer(renamed, AnswerForm::take).reading, Reading::refused);
  EXPECT_EQ(read_answer(throttle_answer, AnswerForm::integer).reading, Reading::refused);
}

TEST(AnAnswer, ThatContradictsItselfIsAbsurd) {
  for (const AnswerForm form : {AnswerForm::throttle, AnswerForm::take}) {
    EXPECT_FALSE(absurdity({.admitted = true, .limit = 16, .remaining = 15}, form));
    EXPECT_TRUE(absurdity({.admitted = true, .limit = 16, .remaining = 17}, form));
    EXPECT_TRUE(absurdity({.admitted = true, .limit = 16, .remaining = -1}, form));
  }
}

TEST(AnAnswer, MayDenyAndInviteAtOnceOnlyInWholeSeconds) {
  const Answer answer{.admitted = false, .limit = 16, .retry_after = 0};
  EXPECT_TRUE(absurdity(answer, AnswerForm::take));
  EXPECT_FALSE(absurdity(answer, AnswerForm::throttle));
}

std::map<std::uint64_t, int> drawn(const Keys& keys) {
  KeyChooser chooser(keys, {.value = 7});
  std::map<std::uint64_t, int> times;
  for (int i = 0; i < 100'000; ++i) ++times[chooser.next()];
  return times;
}

TEST(AKeyChooser, OfOneKeyAlwaysChoosesIt) { EXPECT_EQ(drawn({.count = 1}).at(0), 100'000); }

TEST(AKeyChooser, OfUniformKeysChoosesEachAboutAsOften) {
  const auto times = drawn({.count = 100});
  ASSERT_EQ(times.size(), 100U);
  for (const auto& [key, count] : times) EXPECT_NEAR(count, 1'000, 200) << key;
}

TEST(AKeyChooser, OfZipfKeysChoosesTheFirstTwiceAsOftenAsTheSecond) {
  const auto times = drawn({.count = 100, .spread = Keys::Spread::zipf, .exponent = 1.0});
  EXPECT_NEAR(times.at(0), 19'278, 500);  // 1 / (1 + 1/2 + ... + 1/100) of all.
  EXPECT_NEAR(times.at(1), 9'639, 400);
  EXPECT_LT(times.rbegin()->first, 100U);
}

TEST(AKeyChooser, WithTheSameSeedChoosesTheSameKeys) {
  const Keys keys{.count = 1'000'000};
  KeyChooser one(keys, {.value = 3});
  KeyChooser same(keys, {.value = 3});
  KeyChooser another(keys, {.value = 4});
  int differences = 0;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t key = one.next();
    EXPECT_EQ(key, same.next());
    if (key != another.next()) ++differences;
  }
  EXPECT_GT(differences, 95);
}

}  // namespace
}  // namespace weir::load
