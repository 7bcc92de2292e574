#include "limit/state_form.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace weir {
namespace {

using Form = std::vector<std::int64_t>;

const char* const texts[] = {"5/1m",
                             "3/7s burst 2",
                             "leaky-bucket 10/s queue 5",
                             "fixed-window 20/1s",
                             "sliding-window 20/1s parts 4",
                             "sliding-log 9/1s",
                             "concurrency 9/1s",
                             "calendar-window 9/hour zone Asia/Kathmandu",
                             "5/1s block 10s",
                             "concurrency 7/2s block 1s & 10/1s",
                             "10/1s & sliding-log 30/1m & fixed-window 4/100ms"};

Form form_of(const Limit::State& state) {
  Form form;
  write_form(state, form);
  return form;
}

/// A state that has lived through some calls.
Limit::State used(const Limit& limit, std::mt19937_64& random, int calls) {
  Limit::State state;
  Instant now{std::chrono::seconds{1'795'000'000}};
  for (int call = 0; call < calls; ++call) {
    now += Span{static_cast<std::int64_t>(random() % 300'000)};
    const Request request{now, static_cast<Cost>(random() % 3), Span{2'000'000}};
    (void)step<Limit::Machine>(limit.config(), state, request);
  }
  return state;
}

TEST(StateForm, IsReadBackAsTheSameState) {
  std::mt19937_64 random(11);
  for (const char* text : texts) {
    const Limit limit = Limit::parse(text).value();
    for (int calls = 0; calls < 60; ++calls) {
      const Limit::State state = used(limit, random, calls);
      const Form form = form_of(state);
      const auto read = read_form(form);
      ASSERT_TRUE(read) << text;
      EXPECT_TRUE(*read == state) << text;
      EXPECT_EQ(form_of(*read), form) << text;
    }
  }
}

/// What is written today must be readable by every later release.
TEST(StateForm, IsThisOne) {
  const auto read_back = [](const Form& form) {
    const auto state = read_form(form);
    return state ? form_of(*state) : Form{};
  };
  for (const Form& form :
       {Form{0, 1'795'000'000'000'000, 2}, Form{0, -(std::int64_t{1} << 53), 0}, Form{1, 5, 0},
        Form{2, 60'000'000, 7}, Form{7, -60'000'000, 7}, Form{3, 50, 1, 0, 4}, Form{4, 1, 1, 2, 90},
        Form{4}, Form{5}, Form{5, -(std::int64_t{1} << 53), 3, 0, 77, 1, 500, 4, 4, 1, 2, 3},
        Form{6}, Form{6, 1'795'000'000'000'001, 1'795'000'000'000'000, 0},
        Form{6, 9, 8, 6, 40, 7, 2, 41, 9, 1, 41, 8, 3},
        Form{5, 500, 7, 6, 9, 8, 2, 40, 7, 2, 500, 3, 0, 77, 1}}) {
    EXPECT_EQ(read_back(form), form);
  }
}

TEST(StateForm, OfNoStateIsRefused) {
  const std::int64_t far = (std::int64_t{1} << 53) + 1;
  for (const Form& form : {Form{},
                           Form{0},
                           Form{0, 1},
                           Form{0, 1, 2, 3},
                           Form{0, far, 0},
                           Form{0, 1, -1},
                           Form{0, 1, far},
                           Form{-1, 0, 0},
                           Form{6, 1},
                           Form{6, 9, 8},
                           Form{6, 0, 0, 0},
                           Form{6, far - 1, 0, 0},
                           Form{6, 9, far, 0},
                           Form{6, 9, 8, 1},
                           Form{6, 9, 8, 1, 40},
                           Form{6, 9, 8, 1, 40, 7},
                           Form{6, 9, 8, 2, 40, 7, 1},
                           Form{6, 9, 8, 1, far, 7, 1},
                           Form{6, 9, 8, 1, 40, 0, 1},
                           Form{6, 9, 8, 1, 40, 10, 1},
                           Form{6, 9, 8, 0, 40, 7, 0},
                           Form{6, 9, 8, 10'001, 40, 7, 10'001},
                           Form{6, 9, 8, 2, 40, 7, 1, 39, 8, 1},
                           Form{8, 0, 0},
                           Form{7, 0},
                           Form{2, 0, -1},
                           Form{2, 0, (std::int64_t{1} << 50) + 1},
                           Form{3},
                           Form{3, 0, -1},
                           Form{4, 2, 1},
                           Form{4, far},
                           Form{5, 0},
                           Form{5, 0, 4, 0, 1, 2},
                           Form{5, 0, -1},
                           Form{5, 0, 0},
                           Form{5, 0, 3, 5, 0, 0},
                           Form{5, far, 3, 0, 1, 2}}) {
    EXPECT_FALSE(read_form(form)) << testing::PrintToString(form);
  }
  Form window(SlidingWindow::most_parts + 4, 0);
  window[0] = 3;
  EXPECT_FALSE(read_form(window));
  Form permits(3 + 3 * (Concurrency::most_permits + 1), 1);
  permits.insert(permits.begin(), 6);
  permits[3] = Concurrency::most_permits + 1;
  EXPECT_FALSE(read_form(permits));
  permits.resize(permits.size() - 3);
  permits[3] = Concurrency::most_permits;
  EXPECT_TRUE(read_form(permits));
  Form terms{5};
  for (int term = 0; term < 9; ++term) terms.insert(terms.end(), {0, 3, 0, 0, 0});
  EXPECT_FALSE(read_form(terms));
}

}  // namespace
}  // namespace weir
