// A store whose clock steps, or stands still.
#include <atomic>
#include <string>
#include <thread>

#include "test/fault/store/rows.hpp"
#include "test/redis/redis_store.hpp"
#include "test/wire/redis_server.hpp"

namespace weir::test {
namespace {

using std::chrono::microseconds;

/// Tells a server the time, off by as much as it is told.
class Clock {
 public:
  Clock() {
    tell();
    thread_ = std::thread([this] {
      while (!stopping_) {
        if (!frozen_) tell();
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
      }
    });
  }
  ~Clock() {
    stopping_ = true;
    thread_.join();
  }
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  std::vector<std::string> environment() const { return file_.environment(); }
  void step(microseconds by) { off_us_ += by.count(); }
  void freeze() { frozen_ = true; }
  void thaw() { frozen_ = false; }

 private:
  void tell() {
    const auto now = std::chrono::duration_cast<microseconds>(
        std::chrono::system_clock::now().time_since_epoch());
    file_.set(Instant{Span{now.count() + off_us_}});
  }

  redis::ClockFile file_;
  std::atomic<std::int64_t> off_us_{0};
  std::atomic<bool> frozen_{false};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

/// How long no bucket let anything in, at most: the burst's time, and the minute of patience that a
/// state may lie ahead (docs/decisions/0012-the-stores-clock.md).
void tell_lock_out(Figures& figures, std::vector<Call> calls) {
  std::sort(calls.begin(), calls.end(), [](const Call& one, const Call& other) {
    return one.returned_at_ns < other.returned_at_ns;
  });
  std::int64_t longest_ns = 0;
  std::int64_t last_ns = calls.front().returned_at_ns;
  for (const Call& call : calls) {
    if (call.of != Call::Of::bucket || call.source != redis::Source::store || !call.admitted) {
      continue;
    }
    longest_ns = std::max(longest_ns, call.returned_at_ns - last_ns);
    last_ns = call.returned_at_ns;
  }
  longest_ns = std::max(longest_ns, calls.back().returned_at_ns - last_ns);
  figures.notes.emplace_back("longest without a grant",
                             std::to_string(longest_ns / 1'000'000) + " ms");
  require(figures, "no key is shut out for longer than stated",
          [&] { return longest_ns < 63'000'000'000; });
}

Figures changed(const Scale& scale, const std::function<void(Clock&)>& fault,
                std::int64_t excess_bound) {
  Clock clock;
  wire::RedisServer server({.environment = clock.environment()});
  const std::string url = url_of(server.port());
  return run(scale, {.url = url,
                     .load = load_of(scale, url),
                     .fault = [&] { fault(clock); },
                     .heal = [&] { clock.thaw(); },
                     .excess_bound = excess_bound,
                     .look = [](Figures& figures, const std::vector<Call>& calls,
                                const Load&) { tell_lock_out(figures, calls); }});
}

}  // namespace

std::vector<Row> rows_of_clocks() {
  constexpr std::int64_t burst = Asked::bucket.burst;
  return {
      {"F19", "the store's clock an hour forward",
       [](const Scale& scale) {
         return changed(
             scale, [](Clock& clock) { clock.step(std::chrono::hours{1}); }, burst);
       }},
      {"F19-back", "the store's clock an hour back",
       [](Scale scale) {
         // Until keys are let in again, where there is time for it.
         if (scale.after > std::chrono::seconds{2}) scale.after = std::chrono::seconds{65};
         return changed(
             scale, [](Clock& clock) { clock.step(-std::chrono::hours{1}); }, burst);
       }},
      {"F19-frozen", "the store's clock stands still",
       [](const Scale& scale) {
         return changed(
             scale, [](Clock& clock) { clock.freeze(); }, burst);
       }},
  };
}

}  // namespace weir::test
