// One unit of a program: it uses the single header.
#include <weir.hpp>

int limits_keep_their_promise();

namespace {

/// How many of ten requests are granted at one instant.
template <typename Limiter>
int granted_at_once(Limiter& limiter) {
  int granted = 0;
  for (int call = 0; call < 10; ++call) granted += limiter.try_acquire() ? 1 : 0;
  return granted;
}

int granted_by_table(std::string_view key) {
  weir::Rules rules;
  weir::Table table;
  const weir::Rule* const login = rules.add({"login", "sliding-log 3/1m"}).value();
  int granted = 0;
  for (int call = 0; call < 10; ++call) {
    const weir::Instant now{weir::Span{call}};
    granted += weir::taken(table.take({login, key}, {now}).decision.verdict) ? 1 : 0;
  }
  return granted;
}

}  // namespace

/// 0, or the number of the first promise that was broken.
int limits_keep_their_promise() {
  const weir::ManualTime time(weir::SteadyInstant{std::chrono::hours{1}});
  const weir::ManualClock clock(time);
  using Bucket = weir::BasicLimiter<weir::AtomicWord, weir::ManualClock>;
  Bucket bucket({.count = 5, .period = std::chrono::seconds{1}, .burst = 4}, clock);
  if (granted_at_once(bucket) != 4) return 1;
  using AnyLimit = weir::BasicLimiter<weir::LimitState, weir::ManualClock>;
  AnyLimit limiter = AnyLimit::of("10/s burst 7 & 6/1m", clock);
  if (granted_at_once(limiter) != 6) return 2;
  if (granted_by_table("alice") != 3) return 3;
  weir::Limiter waits = weir::Limiter::of("leaky-bucket 1000/s queue 1");
  if (!waits.acquire() || !waits.acquire()) return 4;
  return weir::print_duration(weir::Span{1'500'000}) == "1500ms" ? 0 : 5;
}
