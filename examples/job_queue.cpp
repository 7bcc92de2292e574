// Workers that share a budget: jobs have priorities, cost what they turn out to cost, and end when
// they are told to.
//
// It shows:
//   priorities   everybody's jobs pass `all`; background jobs pass `background` first, which is
//                narrower, so that a part of `all` is always left for urgent ones
//   post-paid    a job reserves what it may cost and commits what it did cost; the difference is
//                given back, or waited for by those who come later
//   stopping     a stop_token ends every wait, and what was waited for is given back
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <random>
#include <stop_token>
#include <thread>
#include <vector>

#include "weir/local/limiter.hpp"

namespace {

using namespace std::chrono_literals;

struct Budget {
  weir::TokenBucket all{{.count = 1'000, .period = 1s, .burst = 50}};
  weir::TokenBucket background{{.count = 10, .period = 1s, .burst = 2}};  // jobs, not units
};

enum class Priority { urgent, background };

struct Done {
  std::atomic<int> jobs{0};
  std::atomic<weir::Cost> units{0};
};

/// False where it was stopped before the instant came.
bool wait_until(weir::SteadyInstant instant, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never_notified;
  std::unique_lock lock(mutex);
  never_notified.wait_until(lock, stop, instant, [] { return false; });
  return !stop.stop_requested();
}

/// What a job is thought to cost at most, before it has run; and then what it did cost.
constexpr weir::Cost estimate = 20;
weir::Cost run_job(std::minstd_rand& random) {
  return std::uniform_int_distribution<weir::Cost>(5, 25)(random);
}

void work(std::stop_token stop, Budget& budget, Priority priority, Done& done) {
  std::minstd_rand random(7);
  while (!stop.stop_requested()) {
    if (priority == Priority::background && !budget.background.acquire(1, stop)) return;
    auto reservation = budget.all.reserve(estimate);
    // A stop destroys the reservation here, and that gives it back.
    if (!wait_until(reservation.ready_at(), stop)) return;
    const weir::Cost cost = run_job(random);
    reservation.commit(cost);
    done.units += cost;
    ++done.jobs;
  }
}

}  // namespace

int main() {
  Budget budget;
  Done urgent;
  Done background;
  const auto start = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> workers;
    for (int count = 0; count < 2; ++count) {
      workers.emplace_back(
          [&](std::stop_token stop) { work(std::move(stop), budget, Priority::urgent, urgent); });
      workers.emplace_back([&](std::stop_token stop) {
        work(std::move(stop), budget, Priority::background, background);
      });
    }
    std::this_thread::sleep_for(1s);
  }  // stops and joins them
  const auto took = std::chrono::steady_clock::now() - start;

  std::cout << "urgent      " << urgent.jobs << " jobs, " << urgent.units << " units\n"
            << "background  " << background.jobs << " jobs, " << background.units << " units\n"
            << "left behind " << budget.all.waiting() + budget.background.waiting() << " places\n";
  // A job may cost 5 more than it reserved, and four run at once.
  const weir::Cost most = 50 + took / 1ms + 4 * 5;
  const bool bound_held = urgent.units + background.units <= most;
  return bound_held && urgent.jobs > background.jobs && background.jobs > 0 &&
                 budget.all.waiting() + budget.background.waiting() == 0
             ? 0
             : 1;
}
