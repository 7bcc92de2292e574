#include "test/fault/store/drill.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

namespace weir::test {
namespace {

using redis::Source;

/// Looks at this process's memory, and at how late it is woken up.
class Watch {
 public:
  Watch() : thread_([this] { watch(); }) {}
  ~Watch() {
    stopping_ = true;
    thread_.join();
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void forget_memory() { most_kib_ = resident_kib(); }
  std::int64_t most_kib() const { return most_kib_; }
  double longest_pause_ms() const { return static_cast<double>(longest_pause_ns_) / 1e6; }

 private:
  void watch() {
    constexpr std::chrono::milliseconds turn{2};
    while (!stopping_) {
      const std::int64_t slept_at_ns = now_ns();
      std::this_thread::sleep_for(turn);
      const std::int64_t late_ns = now_ns() - slept_at_ns - std::chrono::nanoseconds{turn}.count();
      longest_pause_ns_ = std::max<std::int64_t>(longest_pause_ns_, late_ns);
      most_kib_ = std::max<std::int64_t>(most_kib_, resident_kib());
    }
  }

  std::atomic<std::int64_t> most_kib_{0};
  std::atomic<std::int64_t> longest_pause_ns_{0};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

/// From `healed_at` until tenths of a second begin of which five in a row have 95 % of their calls
/// decided by the store; -1 where there are none.
double recovery(const std::vector<Call>& calls, std::int64_t healed_at_ns) {
  constexpr std::int64_t tenth_ns = 100'000'000;
  struct Tenth {
    int all = 0;
    int good = 0;
  };
  std::vector<Tenth> tenths;
  for (const Call& call : calls) {
    if (call.called_at_ns < healed_at_ns) continue;
    const auto place = static_cast<std::size_t>((call.called_at_ns - healed_at_ns) / tenth_ns);
    if (place >= tenths.size()) tenths.resize(place + 1);
    ++tenths[place].all;
    tenths[place].good += by_store(call) ? 1 : 0;
  }
  const auto good = [](const Tenth& tenth) { return tenth.good * 20 >= tenth.all * 19; };
  for (std::size_t i = 0; i + 5 <= tenths.size(); ++i) {
    const auto begin = tenths.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::all_of(begin, begin + 5, good)) return static_cast<double>(i) * 100;
  }
  return -1;
}

}  // namespace

Load::Settings load_of(const Scale& scale, const std::string& url) {
  Load::Settings load;
  load.url = url;
  load.policy.deadline = std::chrono::milliseconds{20};
  load.policy.breaker.probe_every = scale.probe_every;
  return load;
}

void require(Figures& figures, const char* promise, const std::function<bool()>& kept) {
  if (!kept()) figures.broken.emplace_back(promise);
}

void balance(Figures& figures, const std::vector<Call>& calls, std::int64_t in_store) {
  std::int64_t granted = 0;
  std::int64_t perhaps = 0;
  for (const Call& call : calls) {
    if (call.of != Call::Of::account) continue;
    if (call.source == Source::store && call.admitted) ++granted;
    if (call.trouble == redis::TroubleKind::timed_out) ++perhaps;
  }
  figures.doubled = std::max<std::int64_t>(0, in_store - granted - perhaps);
  figures.lost = std::max<std::int64_t>(0, granted - in_store);
  require(figures, "nothing is charged twice", [&] { return figures.doubled == 0; });
  require(figures, "what was granted is charged, but for the stated bound",
          [&] { return *figures.lost <= figures.lost_bound; });
}

void judge_excess(Figures& figures, const std::vector<Call>& calls) {
  figures.excess = excess_of(calls, Whose::all);
  figures.of_store = excess_of(calls, Whose::store);
  figures.of_share = excess_of(calls, Whose::share);
  require(figures, "what the store lets in is within its bound",
          [&] { return !figures.of_store_bound || figures.of_store <= *figures.of_store_bound; });
  require(figures, "what the share lets in is within its bound",
          [&] { return figures.of_share <= share_bound; });
}

Figures run(const Scale& scale, const Drill& drill) {
  Figures figures;
  figures.of_store_bound = drill.excess_bound;
  figures.lost_bound = drill.lost_bound;
  Watch watch;
  Load load(drill.load);
  if (drill.begins == Drill::Begins::with_store) load.await_store(200);
  std::this_thread::sleep_for(scale.before);

  watch.forget_memory();
  const std::int64_t before_kib = resident_kib();
  if (drill.fault) drill.fault();
  std::this_thread::sleep_for(scale.fault);
  figures.grown_kib = std::max<std::int64_t>(0, watch.most_kib() - before_kib);
  if (drill.heal) drill.heal();
  const std::int64_t healed_at_ns = now_ns();
  load.await_store(50);
  std::this_thread::sleep_for(scale.after);
  const std::vector<Call> calls = load.stop();
  figures.paused_ms = watch.longest_pause_ms();

  count(figures, calls);
  figures.recovered_ms = recovery(calls, healed_at_ns);
  judge_excess(figures, calls);
  if (drill.bytes == Drill::Bytes::intact) {
    require(figures, "a fault of the store is told from a refusal",
            [&] { return figures.misread == 0; });
    require(figures, "no call is told what was another's", [&] { return figures.mistaken == 0; });
  }
  const std::chrono::duration<double, std::milli> longest =
      drill.load.policy.deadline + scale.grace;
  require(figures, "no call takes longer than its deadline and a grace, but for the machine's own",
          [&] { return figures.max_ms <= longest.count() + 2 * figures.paused_ms; });
  require(figures, "memory stays flat", [&] { return figures.grown_kib <= 8 * 1024; });
  if (drill.look) drill.look(figures, calls, load);
  if (!drill.count_at.empty()) balance(figures, calls, charged(drill.count_at));
  return figures;
}

}  // namespace weir::test
