// A concurrency limit of which each partition has a share that no other can take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/local/concurrency.hpp"
#include "weir/local/refuse_settings.hpp"
#include "weir/overload/partitions.hpp"

namespace weir {

/// The partitions of a concurrency limit, their lock, and those who wait for each.
///
/// Room that is open to all goes round: the partition whose turn it is gets the next of it, and
/// where its first waiter wants more than there is, the others wait too. So no weight and no
/// partition is starved. What a partition is guaranteed it gets without a turn.
class PartitionedHost {
 public:
  using Admitted = Admission<std::int64_t>;

  struct Config {
    Partitions::Config partitions;
    WaitingRoom::Settings room;  ///< of each
  };

  explicit PartitionedHost(const Config& config)
      : partitions_(config.partitions), rooms_(config.partitions.count, WaitingRoom(config.room)) {}

  Admitted try_enter(std::size_t partition, const Entry& entry) noexcept;
  void leave(std::size_t partition, std::int64_t weight) noexcept;

  Admitted enter_or_join(std::size_t partition, Waiter& waiter) noexcept;
  Admitted look(const Waiter& waiter) noexcept;
  Admitted give_up(std::size_t partition, Waiter& waiter, Refusal because) noexcept;

  void set_limit(std::int64_t limit) noexcept;

  /// What one asks of its numbers, under the lock.
  template <typename Ask>
  auto ask(Ask&& ask) const {
    const std::lock_guard lock(mutex_);
    return ask(partitions_);
  }
  std::size_t waiting(std::size_t partition) const {
    const std::lock_guard lock(mutex_);
    return rooms_[partition].size();
  }

 private:
  Admitted enter(std::size_t partition, const Entry& entry) noexcept;
  void hand_over() noexcept;
  bool hand_over_guaranteed(std::size_t partition) noexcept;
  void let_in(std::size_t partition, Waiter& waiter) noexcept;

  mutable std::mutex mutex_;
  Partitions partitions_;
  std::vector<WaitingRoom> rooms_;
  std::size_t waiting_ = 0;  ///< in all of them
  std::size_t turn_ = 0;     ///< whose first waiter is next to get room that is open to all
};

/// One partition, as the host of a gate.
class PartitionHost {
 public:
  using Holding = std::int64_t;
  using Admitted = Admission<Holding>;
  static constexpr bool expires = false;

  struct Of {
    PartitionedHost& all;
    std::size_t index;
  };
  explicit PartitionHost(const Of& of) noexcept : of_(of) {}

  Admitted try_enter(const Entry& entry, SteadyInstant) noexcept {
    return of_.all.try_enter(of_.index, entry);
  }
  bool leave(Holding weight, SteadyInstant) noexcept {
    of_.all.leave(of_.index, weight);
    return true;
  }
  Admitted enter_or_join(Waiter& waiter, SteadyInstant) noexcept {
    return of_.all.enter_or_join(of_.index, waiter);
  }
  Admitted look(const Waiter& waiter, SteadyInstant) noexcept { return of_.all.look(waiter); }
  Admitted give_up(Waiter& waiter, Refusal because, SteadyInstant) noexcept {
    return of_.all.give_up(of_.index, waiter, because);
  }
  static constexpr SteadyInstant changes_at() noexcept { return SteadyInstant::max(); }

  /// What it may have in flight whatever the others do.
  std::int64_t guaranteed() const {
    return of_.all.ask([this](const Partitions& all) { return all.guaranteed(of_.index); });
  }
  std::int64_t in_flight() const {
    return of_.all.ask([this](const Partitions& all) { return all.in_flight(of_.index); });
  }
  std::size_t waiting() const { return of_.all.waiting(of_.index); }

 private:
  Of of_;
};

/// Lets in at most so much at once, and each partition as much as it is guaranteed whatever the
/// others do: what it leaves of that is kept free for it, and the rest is open to all. Each
/// partition is a gate with the verbs of BasicConcurrencyLimit and a queue of its own; priorities
/// order those who wait in it.
///
/// Bound    all partitions together are never let in above the limit; one is let in up to the limit
///          less what the others are guaranteed
/// Memory   1.8 KB, and 140 bytes for each partition
/// Threads  as BasicConcurrencyLimit
/// Cost     a lock to enter and to leave; while somebody waits, a look at each partition
/// Errors   the constructor throws std::invalid_argument and names the setting
template <typename Clock = DefaultClock, typename Listener = NoSamples>
class BasicPartitionedConcurrencyLimit {
 public:
  using Gate = PermitGate<PartitionHost, Clock, Listener>;
  using Permit = typename Gate::Permit;

  struct Partition {
    std::string name;
    double share = 0;  ///< of the limit, guaranteed, rounded down; all together 1 at most
  };
  struct Settings {
    std::int64_t limit;                 ///< weight in flight at once; 1 to 2^31 - 1
    std::vector<Partition> partitions;  ///< 1 to 64, named apart
    std::size_t queue = 0;              ///< as many may wait, for each; 65 536 at most
    QueueOrder order = QueueOrder::first_come;
  };

  explicit BasicPartitionedConcurrencyLimit(const Settings& settings, Clock clock = {},
                                            Listener listener = {})
      : host_(configured(settings)) {
    for (const Partition& partition : settings.partitions) {
      names_.push_back(partition.name);
      gates_.emplace_back(std::in_place, PartitionHost::Of{host_, gates_.size()}, clock, listener);
    }
  }

  /// In the order of the settings; requires an index below their number.
  Gate& partition(std::size_t index) noexcept { return gates_[index]; }
  /// Null where there is none of that name.
  Gate* partition(std::string_view name) noexcept {
    for (std::size_t at = 0; at < names_.size(); ++at) {
      if (names_[at] == name) return &gates_[at];
    }
    return nullptr;
  }

  /// As BasicConcurrencyLimit's; guarantees change in proportion.
  void set_limit(std::int64_t limit) noexcept { host_.set_limit(limit); }
  std::int64_t limit() const {
    return host_.ask([](const Partitions& all) { return all.limit(); });
  }
  std::int64_t in_flight() const {
    return host_.ask([](const Partitions& all) { return all.in_flight(); });
  }

 private:
  static PartitionedHost::Config configured(const Settings& settings) {
    std::vector<double> shares;
    for (std::size_t at = 0; at < settings.partitions.size(); ++at) {
      shares.push_back(settings.partitions[at].share);
      for (std::size_t before = 0; before < at; ++before) {
        if (settings.partitions[before].name == settings.partitions[at].name) {
          refuse_settings("concurrency limit", {"name", "another one for each partition"});
        }
      }
    }
    const auto partitions = Partitions::configure(settings.limit, shares);
    if (!partitions) refuse_settings("concurrency limit", partitions.error());
    if (settings.queue > WaitingRoom::most)
      refuse_settings("concurrency limit", {"queue", "65536 at most"});
    return {*partitions, {settings.queue, settings.order}};
  }

  PartitionedHost host_;
  std::vector<std::string> names_;
  std::deque<Gate> gates_;
};

/// `weir::PartitionedConcurrencyLimit all({.limit = 9, .partitions = {{"pay", 0.5}, {"web", 0}}});`
using PartitionedConcurrencyLimit = BasicPartitionedConcurrencyLimit<>;

}  // namespace weir
