// Limits made at random, in any spelling the grammar allows.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>
#include <string>

#include "weir/limit.hpp"

namespace weir {
namespace {

/// The same limits each time; RC_PARAMS in the environment asks for others.
[[maybe_unused]] const int seeded = ::setenv("RC_PARAMS", "seed=20 max_success=1000", 0);

std::string blank() { return *rc::gen::element<std::string>(" ", "  ", "\t", " \t "); }
std::string maybe_blank() { return *rc::gen::element<std::string>("", "", " ", "\t"); }

std::string count_text() {
  const int number = *rc::gen::inRange(1, 5'000);
  return std::to_string(number) + *rc::gen::element<std::string>("", "", "", "k");
}

std::string duration_text() {
  return std::to_string(*rc::gen::inRange(1, 100)) +
         *rc::gen::element<std::string>("ms", "s", "m", "h", " seconds", " minute", "sec");
}

std::string term_text() {
  const auto algorithm = *rc::gen::element<std::string>(
      "", "token-bucket", "gcra", "leaky-bucket", "fixed-window", "sliding-window", "sliding-log",
      "concurrency", "calendar-window");
  const bool bucket = algorithm.empty() || algorithm == "token-bucket" || algorithm == "gcra";
  std::string text = maybe_blank() + algorithm + (algorithm.empty() ? "" : blank());
  const bool calendar = algorithm == "calendar-window";
  text += count_text() + maybe_blank() + "/" + maybe_blank();
  text += calendar ? *rc::gen::element<std::string>("minute", "h", "d", "week", "month", "year")
                   : duration_text();
  const auto option = [&](const std::string& name, const std::string& value) {
    if (*rc::gen::arbitrary<bool>()) text += blank() + name + blank() + value;
  };
  if (bucket) {
    option("burst", std::to_string(*rc::gen::inRange(50, 10'000)));
    option("initial", std::to_string(*rc::gen::inRange(0, 2)));
  }
  if (algorithm == "leaky-bucket") option("queue", std::to_string(*rc::gen::inRange(0, 10'000)));
  if (algorithm == "sliding-window") option("parts", std::to_string(*rc::gen::inRange(1, 1'025)));
  if (calendar) option("zone", *rc::gen::element<std::string>("UTC", "Asia/Kolkata", "Etc/GMT+5"));
  option("block", duration_text());
  return text + maybe_blank();
}

std::string limit_text() {
  std::string text = term_text();
  for (int more = *rc::gen::inRange(0, 4); more > 0; --more) text += "&" + term_text();
  return text;
}

RC_GTEST_PROP(LimitProperty, PrintedAndParsedIsTheSame, ()) {
  const auto limit = Limit::parse(limit_text());
  if (!limit) RC_DISCARD("numbers that do not fit");
  const auto again = Limit::parse(limit->text());
  RC_ASSERT(again.has_value());
  RC_ASSERT(*again == *limit);
  RC_ASSERT(again->text() == limit->text());
  RC_ASSERT(again->config() == limit->config());
}

/// A limit with a few bytes changed: refused or read, and what is refused is so within the text.
RC_GTEST_PROP(LimitProperty, AMistakeLiesWithinTheText, ()) {
  std::string text = limit_text();
  for (int changes = *rc::gen::inRange(1, 4); changes > 0; --changes) {
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    const auto byte =
        *rc::gen::element<char>('&', '/', ' ', '0', '9', 'k', 's', '.', '-', '\0', 'x');
    if (*rc::gen::arbitrary<bool>()) {
      text[at] = byte;
    } else {
      text.insert(at, 1, byte);
    }
  }
  const auto limit = Limit::parse(text);
  if (limit) {
    RC_ASSERT(Limit::parse(limit->text()).value() == *limit);
  } else {
    RC_ASSERT(limit.error().column >= 1);
    RC_ASSERT(limit.error().column <= text.size() + 1);
    RC_ASSERT(!limit.error().message.empty());
  }
}

}  // namespace
}  // namespace weir
