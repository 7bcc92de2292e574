#include "weir/local/sleeper.hpp"

#include <thread>

#include "weir/local/wake_ups.hpp"

namespace weir {

void WakeSignal::sleep(std::chrono::nanoseconds left) {
  std::unique_lock lock(mutex_);
  if (woken_ == Woken::no) {
    const auto nap = WakeUps::nap(left);
    if (nap <= std::chrono::nanoseconds{0}) {
      lock.unlock();
      std::this_thread::yield();
      return;
    }
    const auto start = std::chrono::steady_clock::now();
    if (changed_.wait_for(lock, nap) == std::cv_status::timeout) {
      WakeUps::observe(std::chrono::steady_clock::now() - start - nap);
    }
  }
  if (woken_ == Woken::moved) woken_ = Woken::no;
}

}  // namespace weir
