// How does weir compare with other rate limiters? The adapter of bench/peers/compare: without
// arguments it lists what it can measure, with them it measures (bench/peers/README.md).
//
// A host is measured by a type with Host(Wanted) and take(key), and wait() where it can wait, and
// by its line in main().
#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <latch>
#include <optional>
#include <semaphore>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "weir/local/adaptive.hpp"
#include "weir/local/clock.hpp"
#include "weir/local/concurrency.hpp"
#include "weir/local/keyed_token_bucket.hpp"
#include "weir/local/limiter.hpp"
#include "weir/local/table.hpp"
#include "weir/overload/gradient2.hpp"
#include "weir/overload/vegas.hpp"
#include "weir/overload/windowed.hpp"

namespace weir {
namespace {

using Stopwatch = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

/// What every library is asked to hold.
struct Wanted {
  std::uint64_t count;
  std::chrono::seconds period;
  std::uint64_t burst;
  std::uint64_t keys = 1;  ///< that will be asked for: who has fixed memory wants to know

  double per_second() const {
    return static_cast<double>(count) / static_cast<double>(period.count());
  }
  std::string text() const {
    return std::to_string(count) + "/" + std::to_string(period.count()) + "s burst " +
           std::to_string(burst);
  }
};

constexpr std::chrono::seconds day = std::chrono::hours(24);
constexpr std::chrono::seconds second{1};
// Never refuses here, and after its first use no key is as if never seen, which a host may drop.
constexpr Wanted plenty{.count = 10, .period = second, .burst = 1'000'000'000};
constexpr Wanted closed{.count = 1, .period = day, .burst = 1};
constexpr Wanted ten{.count = 1, .period = day, .burst = 10};
constexpr Wanted swift{.count = 100'000, .period = second, .burst = 100'000};
constexpr Wanted paced{.count = 100'000, .period = second, .burst = 100};

// ---- What is measured ----

/// No limiter: what all ratios are to.
class ReadingTheClock {
 public:
  explicit ReadingTheClock(const Wanted&) {}
  bool take(std::uint64_t) { return Stopwatch::now() >= start_; }

 private:
  Stopwatch::time_point start_ = Stopwatch::now();
};

/// No gate: what the ratios of all gates are to.
class TwoIncrements {
 public:
  explicit TwoIncrements(const Wanted&) {}
  bool take(std::uint64_t) {
    word_.fetch_add(1, std::memory_order_acq_rel);
    word_.fetch_sub(1, std::memory_order_acq_rel);
    return true;
  }

 private:
  std::atomic<std::uint64_t> word_{0};
};

/// How many a gate lets in at once. Under `closed` one, whose place is taken.
std::int64_t places(const Wanted& wanted) { return wanted.burst > 1 ? 100 : 1; }

class StandardSemaphore {
 public:
  explicit StandardSemaphore(const Wanted& wanted) : permits_(places(wanted)) {
    if (places(wanted) == 1) permits_.acquire();
  }
  bool take(std::uint64_t) {
    if (!permits_.try_acquire()) return false;
    permits_.release();
    return true;
  }

 private:
  std::counting_semaphore<> permits_;
};

ConcurrencyLimit::Settings fixed(std::int64_t places) { return {.limit = places}; }

// Calls here are over in nanoseconds, which windows leave out by default.
template <typename Limit>
typename Limit::Settings gradient2(std::int64_t places) {
  return {.estimator = {.estimator = {.minimum = 1, .initial = places}, .least_latency = {}}};
}

AdaptiveLimit<Vegas>::Settings vegas(std::int64_t places) {
  return {.estimator = {.initial = places}};
}

template <typename Limit, typename Limit::Settings (*OfPlaces)(std::int64_t)>
class Gate {
 public:
  explicit Gate(const Wanted& wanted) : limit_(OfPlaces(places(wanted))) {
    if (places(wanted) == 1) held_.emplace(limit_.try_enter());
  }
  bool take(std::uint64_t) {
    auto permit = limit_.try_enter();
    if (!permit) return false;
    permit.end(CallEnd::success);
    return true;
  }

 private:
  Limit limit_;
  std::optional<decltype(limit_.try_enter())> held_;
};

template <typename Clock, typename Limit = AdaptiveLimit<Windowed<Gradient2>, Clock>>
using AGradient2 = Gate<Limit, gradient2<Limit>>;

struct OwnClock {
  UnixClock clock;
  Instant now() const { return clock.now(); }
};

struct GivenNow {
  Instant given = UnixClock{}.now();
  Instant now() const { return given; }
};

template <typename Clock>
class KeyedTable {
 public:
  explicit KeyedTable(const Wanted& wanted) : rule_(rules_.find(wanted.text()).value()) {}
  bool take(std::uint64_t key) {
    std::array<char, sizeof key> bytes;
    std::memcpy(bytes.data(), &key, sizeof key);
    const Subject subject{rule_, {bytes.data(), bytes.size()}};
    return taken(table_.take(subject, {clock_.now()}).decision.verdict);
  }

 private:
  Rules rules_;
  const Rule* rule_;
  Table table_;
  Clock clock_;
};

AtomicWord::Settings settings(const Wanted& wanted) {
  return {.count = static_cast<Cost>(wanted.count),
          .period = wanted.period,
          .burst = static_cast<Cost>(wanted.burst)};
}

class OneBucket {
 public:
  explicit OneBucket(const Wanted& wanted) : bucket_(settings(wanted)) {}
  bool take(std::uint64_t) { return static_cast<bool>(bucket_.try_acquire()); }
  void wait() { static_cast<void>(bucket_.acquire()); }

 private:
  TokenBucket bucket_;
};

class OneBucketAtAGivenTime {
 public:
  explicit OneBucketAtAGivenTime(const Wanted& wanted) : bucket_(settings(wanted)) {}
  bool take(std::uint64_t) { return static_cast<bool>(bucket_.try_acquire(1, now_)); }

 private:
  TokenBucket bucket_;
  const SteadyInstant now_ = bucket_.clock().now();
};

class OneLimiter {
 public:
  explicit OneLimiter(const Wanted& wanted) : limiter_(Limiter::of(wanted.text())) {}
  bool take(std::uint64_t) { return static_cast<bool>(limiter_.try_acquire()); }
  void wait() { static_cast<void>(limiter_.acquire()); }

 private:
  Limiter limiter_;
};

class ABucketAKey {
 public:
  explicit ABucketAKey(const Wanted& wanted)
      : buckets_({.count = static_cast<Cost>(wanted.count),
                  .period = wanted.period,
                  .burst = static_cast<Cost>(wanted.burst),
                  .max_keys = wanted.keys + wanted.keys / 4}) {}
  bool take(std::uint64_t key) { return static_cast<bool>(buckets_.try_acquire(key)); }

 protected:
  KeyedTokenBucket<std::uint64_t> buckets_;
};

class ABucketAKeyAtAGivenTime : public ABucketAKey {
 public:
  using ABucketAKey::ABucketAKey;
  bool take(std::uint64_t key) { return static_cast<bool>(buckets_.try_acquire(key, 1, now_)); }

 private:
  const SteadyInstant now_ = TscClock().now();
};

template <typename Host>
concept CanWait = requires(Host host) {
  host.wait();
};

// ---- How it is measured ----

struct Asked {
  std::string_view question;
  std::uint64_t keys;
  Milliseconds length;
};

struct Case {
  std::string_view library;
  std::string_view clock;
  std::vector<std::uint64_t> keys;
  std::vector<std::string_view> questions;
  bool (*answers_rightly)();
  void (*answer)(const Case&, const Asked&);
};

/// Prints a result's line; `numbers` are its last fields.
void say(const Case& of, const Asked& asked, const std::string& numbers) {
  const std::string_view question = asked.question;
  std::printf(
      "{\"library\": \"%s\", \"clock\": \"%s\", \"question\": \"%.*s\", \"keys\": %llu, %s}\n",
      of.library.data(), of.clock.data(), static_cast<int>(question.size()), question.data(),
      static_cast<unsigned long long>(asked.keys), numbers.c_str());
  std::fflush(stdout);
}

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "how_does_weir_compare: %s\n", why.c_str());
  std::_Exit(1);  // other threads may still ask
}

/// A random number of a counter.
std::uint64_t mix(std::uint64_t number) {
  number += 0x9e3779b97f4a7c15;
  number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9;
  number = (number ^ number >> 27) * 0x94d049bb133111eb;
  return number ^ number >> 31;
}

/// Keys in the order in which they are asked for.
using Order = std::vector<std::uint64_t>;
constexpr std::size_t order_size = std::size_t{1} << 17;

/// Of time, so short that some are not interrupted.
constexpr int slices = 20;

Order random_order(std::uint64_t keys) {
  Order order(order_size);
  for (std::size_t at = 0; at < order_size; ++at) order[at] = mix(mix(at) % keys);
  return order;
}

/// Of the processor, by this thread: what others take from it meanwhile is not in it.
double nanoseconds_used() {
  std::timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) * 1e9 + static_cast<double>(used.tv_nsec);
}

double nanoseconds_since(Stopwatch::time_point start) {
  return std::chrono::duration<double, std::nano>(Stopwatch::now() - start).count();
}

struct Slice {
  unsigned threads;
  Milliseconds length;
  bool wanted;
};

/// Nanoseconds a call: that passed, and that the threads used.
struct Spent {
  double passed;
  double used;
};

/// What a call takes while so many threads ask for so long.
template <typename Host>
Spent nanoseconds_a_call(Host& host, const Order& order, const Slice& slice) {
  struct Sum {
    double passed = 0;
    double used = 0;
    double calls = 0;
  };
  std::vector<Sum> sums(slice.threads);
  std::latch ready(slice.threads);
  std::vector<std::jthread> threads;
  for (unsigned thread = 0; thread < slice.threads; ++thread) {
    threads.emplace_back([&, thread] {
      ready.arrive_and_wait();
      std::size_t at = thread * order_size / 2;
      std::uint64_t calls = 0;
      const double used = nanoseconds_used();
      const auto start = Stopwatch::now();
      while (Stopwatch::now() - start < slice.length) {
        for (int call = 0; call < 1024; ++call) {
          if (host.take(order[at++ % order_size]) != slice.wanted) fail("a wrong answer");
        }
        calls += 1024;
      }
      sums[thread] = {nanoseconds_since(start), nanoseconds_used() - used,
                      static_cast<double>(calls)};
    });
  }
  threads.clear();
  Sum all;
  for (const Sum& sum : sums) {
    all.passed += sum.passed;
    all.used += sum.used;
    all.calls += sum.calls;
  }
  return {all.passed / all.calls, all.used / all.calls};
}

template <typename Host>
void speed(const Case& of, const Asked& asked) {
  const bool is_gate = asked.question == "enter" || asked.question == "refuse";
  const bool wanted = asked.question == "allow" || asked.question == "enter";
  Wanted limit = wanted ? plenty : closed;
  limit.keys = asked.keys;
  Host host(limit);
  const Order order = random_order(asked.keys);
  for (std::uint64_t key = 0; key < asked.keys; ++key) {
    (void)host.take(mix(key));
    (void)host.take(mix(key));
  }
  (void)nanoseconds_a_call(host, order, {1, 10 * asked.length, wanted});  // to warm up
  for (const unsigned threads : {1U, 2U}) {
    for (int time = 0; time < slices; ++time) {
      const Spent spent = nanoseconds_a_call(host, order, {threads, asked.length, wanted});
      std::string numbers = "\"threads\": " + std::to_string(threads) +
                            ", \"ns\": " + std::to_string(is_gate ? spent.used : spent.passed);
      if (is_gate) numbers += ", \"ran\": " + std::to_string(spent.used / spent.passed);
      say(of, asked, numbers);
    }
  }
}

/// Has many callers ask for so long, and tells what they got and what the limit allows.
template <typename Host, typename Once>
void crowd(const Case& of, const Asked& asked, const Wanted& wanted, unsigned threads,
           Once&& once) {
  std::optional<Host> host;
  std::latch ready(threads);
  std::latch open(1);
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> admitted = 0;
  std::vector<std::jthread> callers;
  for (unsigned caller = 0; caller < threads; ++caller) {
    callers.emplace_back([&] {
      ready.count_down();
      open.wait();
      std::uint64_t granted = 0;
      while (!stop.load(std::memory_order_relaxed)) granted += once(*host) ? 1U : 0U;
      admitted += granted;
    });
  }
  ready.wait();
  const auto start = Stopwatch::now();
  host.emplace(wanted);
  open.count_down();
  std::this_thread::sleep_for(asked.length);
  stop = true;
  callers.clear();
  const double allowed =
      static_cast<double>(wanted.burst) + wanted.per_second() * nanoseconds_since(start) * 1e-9;
  say(of, asked,
      "\"threads\": " + std::to_string(threads) + ", \"admitted\": " +
          std::to_string(admitted.load()) + ", \"allowed\": " + std::to_string(allowed));
}

double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double all = 0;
  double resident = 0;
  file >> all >> resident;
  return resident * 4096;
}

template <typename Host>
void bytes(const Case& of, Asked asked) {
  asked.keys = 1'000'000;
  Wanted limit = closed;
  limit.keys = asked.keys;
  const double before = resident_bytes();
  Host host(limit);
  for (std::uint64_t key = 0; key < asked.keys; ++key) (void)host.take(mix(key));
  const double each = (resident_bytes() - before) / static_cast<double>(asked.keys);
  say(of, asked, "\"bytes\": " + std::to_string(each));
}

template <typename Host>
void answer(const Case& of, const Asked& asked) {
  const std::array speeds{"allow", "deny", "enter", "refuse"};
  if (std::find(speeds.begin(), speeds.end(), asked.question) != speeds.end()) {
    speed<Host>(of, asked);
  } else if (asked.question == "accuracy") {
    for (const unsigned threads : {8U, 64U, 512U}) {
      crowd<Host>(of, asked, swift, threads, [](Host& host) { return host.take(1); });
    }
  } else if (asked.question == "bytes") {
    bytes<Host>(of, asked);
  } else if constexpr (CanWait<Host>) {
    for (const unsigned threads : {1U, 8U}) {
      crowd<Host>(of, asked, paced, threads, [](Host& host) { return host.wait(), true; });
    }
  }
}

/// Only who gives the right answers is asked for their time.
template <typename Host>
bool hands_out_its_burst() {
  Host host(ten);
  int granted = 0;
  for (int time = 0; time < 20; ++time) granted += host.take(1) ? 1 : 0;
  return granted == 10;
}

bool has_no_burst() { return true; }

template <typename Host>
Case limiter(std::string_view library, std::string_view clock) {
  Case made{library, clock, {1}, {"allow", "deny"}, hands_out_its_burst<Host>, answer<Host>};
  if (clock != "given") made.questions.emplace_back("accuracy");
  if (CanWait<Host>) made.questions.emplace_back("wakeup");
  return made;
}

template <typename Host>
Case keyed(std::string_view library, std::string_view clock) {
  Case made = limiter<Host>(library, clock);
  made.keys.push_back(100'000);
  if (clock != "given") made.questions.emplace_back("bytes");
  return made;
}

template <typename Host>
Case no_limiter(std::string_view library, std::string_view question) {
  return {library, "none", {1}, {question}, has_no_burst, answer<Host>};
}

template <typename Host>
Case gate(std::string_view library, std::string_view clock) {
  return {library, clock, {1}, {"enter", "refuse"}, has_no_burst, answer<Host>};
}

std::vector<Case> cases() {
  return {
      no_limiter<ReadingTheClock>("steady_clock::now", "allow"),
      limiter<OneBucket>("weir::TokenBucket", "default"),
      limiter<OneBucketAtAGivenTime>("weir::TokenBucket", "given"),
      limiter<OneLimiter>("weir::Limiter", "default"),
      keyed<ABucketAKey>("weir::KeyedTokenBucket", "default"),
      keyed<ABucketAKeyAtAGivenTime>("weir::KeyedTokenBucket", "given"),
      keyed<KeyedTable<OwnClock>>("weir::Table", "default"),
      keyed<KeyedTable<GivenNow>>("weir::Table", "given"),
      no_limiter<TwoIncrements>("two increments", "enter"),
      gate<Gate<ConcurrencyLimit, fixed>>("weir::ConcurrencyLimit", "none"),
      gate<AGradient2<DefaultClock>>("weir::AdaptiveLimit, Gradient2", "default"),
      gate<AGradient2<SteadyClock>>("weir::AdaptiveLimit, Gradient2", "steady"),
      gate<Gate<AdaptiveLimit<Vegas>, vegas>>("weir::AdaptiveLimit, Vegas", "default"),
      gate<StandardSemaphore>("counting_semaphore", "none"),
  };
}

// ---- The protocol ----

void list() {
  for (const Case& one : cases()) {
    std::string keys;
    std::string questions;
    for (const auto count : one.keys) keys += (keys.empty() ? "" : ", ") + std::to_string(count);
    for (const auto question : one.questions) {
      questions += (questions.empty() ? "\"" : ", \"") + std::string(question) + '"';
    }
    std::printf("{\"library\": \"%s\", \"clock\": \"%s\", \"keys\": [%s], \"questions\": [%s]}\n",
                one.library.data(), one.clock.data(), keys.c_str(), questions.c_str());
  }
}

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value == 0) {
    fail("'" + std::string(text) + "' is no positive number");
  }
  return value;
}

int run(const std::vector<std::string_view>& words) {
  if (words.empty()) {
    list();
    return 0;
  }
  if (words.size() < 5) {
    std::fputs("usage: how_does_weir_compare [LIBRARY CLOCK KEYS MILLISECONDS QUESTION...]\n",
               stderr);
    return 2;
  }
  const std::vector<Case> all = cases();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Case& one) {
    return one.library == words[0] && one.clock == words[1];
  });
  if (found == all.end()) fail("no such library and clock; without arguments all are listed");
  if (!found->answers_rightly()) fail("of a burst of 10 it does not hand out 10");
  const Milliseconds length(number(words[3]));
  for (std::size_t at = 4; at < words.size(); ++at) {
    found->answer(*found, {.question = words[at], .keys = number(words[2]), .length = length});
  }
  return 0;
}

}  // namespace
}  // namespace weir

int main(int count, char** words) { return weir::run({words + 1, words + count}); }
