#include "weir/local/alarm.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "weir/local/wake_ups.hpp"

namespace weir {

/// The alarms that are set, in the order of their instants, and the thread that rings them. It
/// begins with the first and ends with the process.
class AlarmThread {
 public:
  static AlarmThread& shared() {
    static AlarmThread alarms;
    return alarms;
  }

  ~AlarmThread() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

  void set(Alarm& alarm, SteadyInstant at) {
    const std::lock_guard lock(mutex_);
    if (!thread_.joinable()) thread_ = std::thread(&AlarmThread::run, this);
    alarm.at_ = instant_of(alarm, at);
    set_.emplace(alarm.at_, &alarm);
    alarm.set_ = true;
    changed_.notify_one();
  }

  void hurry(Alarm& alarm) noexcept {
    const std::lock_guard lock(mutex_);
    alarm.hurried_ = true;
    if (!alarm.set_) return;
    put(set_.extract({alarm.at_, &alarm}), alarm.at_);
    changed_.notify_one();
  }

  bool clear(Alarm& alarm) noexcept {
    std::unique_lock lock(mutex_);
    // It may be set again when it has rung. An alarm that clears itself, or one beside it, is on
    // this very thread and would wait for itself.
    if (std::this_thread::get_id() != thread_.get_id()) {
      rung_.wait(lock, [&] { return ringing_ != &alarm; });
    }
    alarm.hurried_ = false;
    if (!alarm.set_) return false;
    set_.erase({alarm.at_, &alarm});
    alarm.set_ = false;
    return true;
  }

 private:
  AlarmThread() = default;

  using Set = std::set<std::pair<SteadyInstant, Alarm*>>;

  /// One that is hurried rings now, and so in turn: not before all those that are due, however many
  /// are hurried meanwhile.
  static SteadyInstant instant_of(const Alarm& alarm, SteadyInstant at) noexcept {
    return alarm.hurried_ ? std::min(at, std::chrono::steady_clock::now()) : at;
  }

  void put(Set::node_type node, SteadyInstant at) noexcept {
    Alarm& alarm = *node.value().second;
    alarm.at_ = node.value().first = instant_of(alarm, at);
    alarm.set_ = true;
    set_.insert(std::move(node));
  }

  void run() {
    std::unique_lock lock(mutex_);
    while (!ended_) {
      if (set_.empty()) {
        changed_.wait(lock);
        continue;
      }
      Alarm& next = *set_.begin()->second;
      const SteadyInstant now = std::chrono::steady_clock::now();
      if (next.at_ > now) {
        wait(lock, next.at_, now);
        continue;
      }
      Set::node_type node = set_.extract(set_.begin());
      next.set_ = false;
      next.hurried_ = false;
      ringing_ = &next;
      lock.unlock();
      const std::optional<SteadyInstant> again = next.ring();
      lock.lock();
      ringing_ = nullptr;
      rung_.notify_all();
      if (again) put(std::move(node), *again);
    }
  }

  void wait(std::unique_lock<std::mutex>& lock, SteadyInstant until, SteadyInstant now) {
    const auto nap = WakeUps::nap(until - now);
    if (nap <= std::chrono::nanoseconds{0}) {
      lock.unlock();
      std::this_thread::yield();
      lock.lock();
    } else if (changed_.wait_for(lock, nap) == std::cv_status::timeout) {
      WakeUps::observe(std::chrono::steady_clock::now() - now - nap);
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Set set_;
  const Alarm* ringing_ = nullptr;
  std::condition_variable rung_;
  bool ended_ = false;
  std::thread thread_;
};

void Alarm::set(SteadyInstant at) { AlarmThread::shared().set(*this, at); }
void Alarm::hurry() noexcept { AlarmThread::shared().hurry(*this); }
bool Alarm::clear() noexcept { return AlarmThread::shared().clear(*this); }

}  // namespace weir
