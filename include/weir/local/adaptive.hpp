// A concurrency limit that an estimator sets.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>

#include "weir/local/concurrency.hpp"
#include "weir/local/refuse_settings.hpp"
#include "weir/overload/estimator.hpp"

namespace weir {

/// Shows each call that ended to the limit that let it in.
template <typename Limit>
struct Learns {
  Limit* limit;
  void operator()(const CallSample& sample) const noexcept { limit->learn(sample); }
};

/// Lets in at most so much at once, and learns from the calls how much that should be: a
/// BasicConcurrencyLimit, with its verbs, and an estimator. Say how each call ended, by end():
/// a success by its latency, a dropped call too, are all that it learns from.
///
/// Of calls that end at the same time one is shown to the estimator, so that none waits for
/// another; missed() counts the others. Estimators that count are told their number.
///
/// Bound    nobody is let in above the limit in force; that is from the estimator's minimum to its
///          maximum, and never below the heaviest call
/// Memory   264 bytes and the estimator's settings and state; who waits brings its own
/// Threads  safe from any thread; not to be destroyed while a permit is out or somebody waits
/// Cost     that of a concurrency limit; a lock that is never waited for and a sample where a call
///          ends
/// Errors   the constructor throws std::invalid_argument and names the setting
template <Estimator E, typename Clock = DefaultClock>
class AdaptiveLimit : public BasicConcurrencyLimit<Clock, Learns<AdaptiveLimit<E, Clock>>> {
  using Limit = BasicConcurrencyLimit<Clock, Learns<AdaptiveLimit>>;

 public:
  struct Settings {
    typename E::Settings estimator{};
    typename E::State state{};  ///< what it begins with: a seed of its own, say
    std::size_t queue = 0;      ///< as many may wait
    QueueOrder order = QueueOrder::first_come;
    /// A priority that may fill less than half cannot show alone that more would fit.
    Ceilings ceilings{};
    /// No call weighs more. Under a limit below its weight it would be impossible, and if all were,
    /// nothing would ever be learnt again.
    std::int64_t heaviest = 1;
  };

  explicit AdaptiveLimit(const Settings& settings = {}, Clock clock = {})
      : AdaptiveLimit(settings, configured(settings), std::move(clock)) {}

  /// What the estimator has learnt so far.
  typename E::State state() const {
    const std::lock_guard lock(mutex_);
    return state_;
  }

  /// How many successes and drops the estimator was not shown.
  std::int64_t missed() const noexcept { return missed_.load(std::memory_order_relaxed); }

 private:
  friend Learns<AdaptiveLimit>;
  using Limit::set_limit;  // the estimator's alone

  AdaptiveLimit(const Settings& settings, const typename E::Config& config, Clock clock)
      : Limit({.limit = std::max(E::limit(config, settings.state), settings.heaviest),
               .queue = settings.queue,
               .order = settings.order,
               .ceilings = settings.ceilings},
              std::move(clock), {this}),
        config_(config),
        heaviest_(settings.heaviest),
        state_(settings.state) {}

  static typename E::Config configured(const Settings& settings) {
    if (settings.heaviest < 1) refuse_settings("adaptive limit", {"heaviest", "1 or more"});
    const auto config = E::configure(settings.estimator);
    if (config) return *config;
    refuse_settings("adaptive limit", config.error());
  }

  void learn(const CallSample& sample) noexcept {
    if (!tells_of_load(sample.end)) return;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) {
      missed_.fetch_add(1, std::memory_order_relaxed);
      if (sample.end == CallEnd::success) unseen_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    if constexpr (CountingEstimator<E>) {
      if (unseen_.load(std::memory_order_relaxed) > 0) {
        E::count_unseen(config_, state_, unseen_.exchange(0, std::memory_order_relaxed));
      }
    }
    E::observe(config_, state_, sample);
    const std::int64_t limit = std::max(E::limit(config_, state_), heaviest_);
    if (limit != this->limit()) this->set_limit(limit);
  }

  const typename E::Config config_;
  const std::int64_t heaviest_;
  mutable std::mutex mutex_;
  typename E::State state_;
  std::atomic<std::int64_t> missed_{0};
  std::atomic<std::int64_t> unseen_{0};  ///< successes missed since the estimator was told
};

}  // namespace weir
