#include "cli/svg_picture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "cli/admissions.hpp"
#include "cli/svg.hpp"
#include "cli/svg_scale.hpp"
#include "test/cli/program.hpp"

namespace weir::test {
namespace {

using cli::Admissions;
using cli::Frame;
using cli::Step;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Instant at(std::int64_t us) { return Instant{Span{us}}; }

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t found = text.find(part); found != std::string::npos;
       found = text.find(part, found + part.size())) {
    ++count;
  }
  return count;
}

std::string draw(const char* limit, const cli::Schedule& schedule) {
  return cli::svg_picture(cli::events_of({Limit::parse(limit).value(), schedule}));
}

Cost value_at(const std::vector<Step>& steps, Instant when) {
  Cost value = 0;
  for (const Step& step : steps) {
    if (step.at <= when) value = step.value;
  }
  return value;
}

TEST(Admissions, AreStepsInAllAndWithinALength) {
  Admissions admissions;
  admissions.add(at(10), 2);
  admissions.add(at(10), 1);
  admissions.add(at(15), 0);
  admissions.add(at(30), 4);
  const Frame frame{at(0), at(50), 50};
  EXPECT_THAT(admissions.in_all(frame),
              ElementsAre(Step{at(0), 0}, Step{at(10), 3}, Step{at(30), 7}));
  // Half-open: what acted exactly a length ago is out.
  EXPECT_THAT(admissions.within(Span{5}, frame),
              ElementsAre(Step{at(0), 0}, Step{at(10), 3}, Step{at(15), 0}, Step{at(30), 4},
                          Step{at(35), 0}));
  EXPECT_EQ(admissions.until(at(29)), 3);
  EXPECT_EQ(admissions.total(), 7);
}

TEST(Admissions, MayReachWhatEveryWindowLeavesRoomFor) {
  Admissions admissions;
  admissions.add(at(10), 2);
  // Two at once, and one each ten ticks.
  const auto bound = [](Span length) { return 2 + (length.count() - 1) / 10; };
  EXPECT_THAT(admissions.allowed(bound, {at(0), at(40), 40}),
              ElementsAre(Step{at(0), 2}, Step{at(20), 3}, Step{at(30), 4}));
}

TEST(Admissions, InACrowdAColumnShowsItsMost) {
  Admissions admissions;
  for (int call = 0; call < 1'000; ++call) admissions.add(at(call), 1);
  admissions.add(at(1'000), 50);
  const std::vector<Step> line = admissions.within(Span{10}, {at(0), at(2'000), 20});
  EXPECT_LE(line.size(), 20U);
  EXPECT_EQ(value_at(line, at(1'000)), 59);
}

/// Whatever the limit and the calls: the lines of the picture never cross.
TEST(SvgPicture, ShowsNothingAboveItsBound) {
  const std::vector<const char*> limits{
      "3/1ms burst 2",      "leaky-bucket 3/1ms queue 4",
      "fixed-window 3/1ms", "sliding-window 3/1ms parts 3",
      "sliding-log 3/1ms",  "2/1ms & sliding-log 5/4ms block 1ms"};
  std::mt19937_64 random(7);
  for (const char* text : limits) {
    for (int round = 0; round < 20; ++round) {
      cli::Schedule schedule;
      std::int64_t now = static_cast<std::int64_t>(random() % 1'000);
      for (int call = 0; call < 60; ++call) {
        schedule.push_back({at(now), Span{0}, static_cast<std::int64_t>(random() % 3) + 1});
        now += static_cast<std::int64_t>(random() % 600);
      }
      const cli::PictureEvents events = cli::events_of({Limit::parse(text).value(), schedule});
      Admissions admissions;
      for (const auto& call : events.calls) {
        if (taken(call.verdict)) admissions.add(call.acts_at, call.cost);
      }
      for (const std::size_t columns : {7U, 900U}) {
        const Frame frame{at(-10), at(now + 5'000), columns};
        const auto acted = admissions.in_all(frame);
        const auto allowed = admissions.allowed(events.bound, frame);
        for (const auto* line : {&acted, &allowed}) {
          for (const Step& step : *line) {
            EXPECT_LE(value_at(acted, step.at), value_at(allowed, step.at)) << text;
          }
        }
        for (const Step& step : admissions.within(events.windows.front(), frame)) {
          EXPECT_LE(step.value, events.bound(events.windows.front())) << text;
        }
      }
    }
  }
}

TEST(SvgPicture, HasAMarkForEachCall) {
  const std::string drawn = draw("leaky-bucket 10/1s queue 2", {{Instant{}, Span{0}, 4}});
  // Each kind once more in the legend, and a second time where a call acts.
  EXPECT_EQ(count_of(drawn, "<circle "), 1U + 2U + 3U + 2U);
  EXPECT_THAT(drawn, HasSubstr(">1 granted<"));
  EXPECT_THAT(drawn, HasSubstr(">2 deferred<"));
  EXPECT_THAT(drawn, HasSubstr(">1 denied<"));
  EXPECT_THAT(drawn, Not(HasSubstr("impossible")));
  EXPECT_THAT(drawn, HasSubstr("the bound: 10<"));
}

TEST(SvgPicture, CountsInBarsWhatWouldLieOnEachOther) {
  const std::string drawn = draw("100/1s", {{Instant{}, Span{5'000}, 2'000}});
  EXPECT_EQ(count_of(drawn, "<circle "), 0U);
  EXPECT_THAT(drawn, HasSubstr("a bar is 50ms, the tallest 10 calls"));
  EXPECT_LT(drawn.size(), 60'000U);
}

TEST(SvgPicture, SaysWhereTheBoundLiesTooHighToShow) {
  const std::string drawn = draw("100/1s", {{Instant{}, Span{0}, 1}});
  EXPECT_THAT(drawn, HasSubstr("the bound: 199, far above"));
}

TEST(SvgPicture, BreaksALongTitle) {
  const std::string limit = "1/1d & 2/2d & 3/3d & 4/4d & 5/5d & 6/6d & 7/7d & 8/8d";
  const std::string longer = "sliding-window 1000000/1d parts 10 block 100d & " + limit +
                             " & sliding-window 1000000/9d parts 10 block 100d";
  cli::PictureEvents events = cli::events_of({Limit::parse(limit).value(), {{{}, Span{0}, 1}}});
  events.title = longer;
  EXPECT_GE(count_of(cli::svg_picture(events), "class=\"title\""), 2U);
}

TEST(SvgPicture, EscapesWhatWouldEndAText) {
  cli::PictureEvents events =
      cli::events_of({Limit::parse("1/1s & 2/3s").value(), {{Instant{}, Span{0}, 1}}});
  EXPECT_THAT(cli::svg_picture(events), HasSubstr("<title>1/1s &amp; 2/3s</title>"));
  events.title = "</title><script>\"\x01\xff";
  EXPECT_THAT(cli::svg_picture(events), HasSubstr("<title>&lt;/title&gt;&lt;script&gt;&quot;?"
                                                  "?</title>"));
}

TEST(SvgPicture, RefusesMoreCallsThanItDraws) {
  const Output output =
      run_weir({"simulate", "1/s", "--every", "1us", "--count", "1000001", "--svg", "-"});
  EXPECT_EQ(output.code, cli::ExitCode::bad_input);
  EXPECT_EQ(output.err,
            "weir: --svg draws up to 1000000 calls; simulate fewer, or without --svg\n");
}

TEST(SvgPicture, IsOneOfTwoOutputs) {
  const Output output =
      run_weir({"simulate", "1/s", "--every", "1s", "--count", "1", "--svg", "-", "--json"});
  EXPECT_EQ(output.err, "weir: --svg and --json are two outputs; choose one\n");
}

TEST(Svg, WritesTenthsWithoutWaste) {
  EXPECT_EQ(cli::svg::number(1042), "104.2");
  EXPECT_EQ(cli::svg::number(70), "7");
  EXPECT_EQ(cli::svg::number(-5), "-0.5");
  EXPECT_EQ(cli::svg::number(0), "0");
}

TEST(Scale, KeepsLinesApart) {
  EXPECT_EQ(cli::count_scale({.most = 4, .tallest = 640}).step, 2);
  EXPECT_EQ(cli::count_scale({.most = 199, .tallest = 640}).step, 50);
  EXPECT_EQ(cli::count_scale({.most = 1, .tallest = 640}).step, 1);
  const cli::TimeScale years{{at(0), Instant{longest_span}, 100}, 0, 9'000};
  EXPECT_EQ(years.x(Instant{longest_span / 2}), 4'500);
}

}  // namespace
}  // namespace weir::test
