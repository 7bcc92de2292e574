#include "weir/local/clocks.hpp"

#include <algorithm>
#include <memory>
#include <thread>

namespace weir {
namespace {

using std::chrono::microseconds;

}  // namespace

void PublishedTime::publish() noexcept {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  const std::int64_t now = std::chrono::nanoseconds(since).count();
  std::int64_t last = ns_.load(std::memory_order_relaxed);
  while (last < now && !ns_.compare_exchange_weak(last, now, std::memory_order_relaxed)) {
  }
}

struct PublishedTick::Beat {
  Beat(PublishedTime& time, microseconds period)
      : thread([this, &time, period] {
          while (!stopped.load(std::memory_order_relaxed)) {
            time.publish();
            std::this_thread::sleep_for(period);
          }
        }) {}
  ~Beat() {
    stopped.store(true, std::memory_order_relaxed);
    thread.join();
  }

  std::atomic<bool> stopped{false};
  std::thread thread;  // last: it reads what stands above
};

PublishedTick::PublishedTick(microseconds period)
    : beat_(
          std::make_unique<Beat>(time_, std::clamp(period, microseconds{50}, microseconds{10'000}))
              .release()) {}

PublishedTick::~PublishedTick() { const std::unique_ptr<Beat> ends(beat_); }

}  // namespace weir
