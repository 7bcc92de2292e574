// What a table is made of: its shards, and the states that decide for a key.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <vector>

#include "local/shard.hpp"
#include "weir/local/table.hpp"

namespace weir {

using Machine = Limit::Machine;

inline const Machine::Config& config_of(const Subject& subject) noexcept {
  return subject.config ? *subject.config : subject.rule->limit.config();
}

/// Whether a step with this outcome left something to remember.
inline bool changed(const Machine::Config& config, Verdict verdict, Cost cost) noexcept {
  if (cost == 0) return false;
  // Only a penalty is written by a refusal, and only composites have one.
  return taken(verdict) ||
         (verdict == Verdict::denied && std::holds_alternative<Limit::Composite::Config>(config));
}

struct alignas(64) Table::Shard {
  mutable std::mutex mutex;
  StateStore states;
  Instant now = Instant::min();  ///< the latest reading; earlier ones are raised to it
  /// Until then some key here may have been granted later than its own state asked for.
  Instant joint_until = Instant::min();
  std::uint64_t dropped = 0;
  std::uint64_t shared_answers = 0;
  std::uint32_t calls = 0;

  Instant advance(Instant to) noexcept { return now = std::max(now, to); }
};

/// The states that decide for one key: its own, or the two that it shares with others.
struct Table::Held {
  Limit::State* first = nullptr;
  Limit::State* second = nullptr;
  bool shared = false;
  Turn turn = Turn::own;  ///< whose instants the grants of this state may act at

  Instant earliest(const Machine::Config& config, Instant now, Cost cost) const noexcept {
    const Instant one = Machine::earliest(config, *first, now, cost);
    return second ? std::min(one, Machine::earliest(config, *second, now, cost)) : one;
  }

  /// Puts the state with the lesser debt first.
  void order(const Machine::Config& config, Instant now, Cost cost) noexcept {
    if (second && Machine::earliest(config, *second, now, cost) <
                      Machine::earliest(config, *first, now, cost)) {
      std::swap(first, second);
    }
  }

  void charge(const Machine::Config& config, Instant at, Cost cost) const {
    Machine::charge(config, *first, at, cost);
    if (second) Machine::charge(config, *second, at, cost);
  }

  void refuse(const Machine::Config& config, Instant now, Span patience, Cost cost) const {
    Machine::refuse(config, *first, now, patience, cost);
    if (second) Machine::refuse(config, *second, now, patience, cost);
  }

  /// Whose numbers are told.
  const Limit::State& shown(const Machine::Config& config, Instant now) noexcept {
    order(config, now, 0);
    return *first;
  }

  Decision step(const Machine::Config& config, const Request& request) {
    if (!second) return weir::step<Machine>(config, *first, request);
    if (request.cost > Machine::capacity(config)) return peek(config, request);
    order(config, request.now, request.cost);
    const Decision decision = weir::step<Machine>(config, *first, request);
    if (decision.verdict == Verdict::denied) {
      const Span patience = patience_of(request, Machine::own_wait(config, request.cost));
      Machine::refuse(config, *second, request.now, patience, request.cost);
    } else if (request.cost > 0) {
      Machine::charge(config, *second, decision.ready_at, request.cost);
    }
    return decision;
  }

  Decision peek(const Machine::Config& config, const Request& request) {
    if (request.cost <= Machine::capacity(config)) order(config, request.now, request.cost);
    return weir::peek<Machine>(config, *first, request);
  }
};

/// The shared states of every rule that ever needed them.
class Table::SharedStates {
 public:
  /// All of them together take at most so many bytes, but for one state of each rule.
  explicit SharedStates(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  std::mutex mutex;  ///< taken after the shards' locks

  bool exist() const noexcept { return exist_.load(std::memory_order_acquire); }

  /// The key's two states; none where the rule never needed any. Requires the mutex.
  Held find(const Rule& rule, std::uint64_t hash) noexcept {
    const auto set = sets_.find(rule.id);
    if (set == sets_.end()) return {};
    auto& states = set->second;
    Limit::State* one = &states[(hash >> 16) % states.size()];
    Limit::State* two = &states[(hash >> 40) % states.size()];
    return {one, one == two ? nullptr : two, true};
  }

  /// The same, made where there are none.
  Held open(const Rule& rule, std::uint64_t hash) {
    if (!sets_.contains(rule.id)) {
      const std::size_t share = sets_.size() < 64 ? 1 : 256;
      const std::size_t fit = shared_bytes / rule.limit.largest_state_bytes();
      const std::size_t usual = std::clamp<std::size_t>(fit, 256, shared_states) / share;
      const std::size_t left = most_bytes_ > bytes_ ? most_bytes_ - bytes_ : 0;
      const std::size_t size =
          std::max<std::size_t>(1, std::min(usual, left / rule.limit.largest_state_bytes()));
      sets_.emplace(rule.id, std::vector<Limit::State>(size));
      bytes_ += size * rule.limit.largest_state_bytes();
      exist_.store(true, std::memory_order_release);
    }
    return find(rule, hash);
  }

  /// The states of a rule, none where it never needed any.
  const std::vector<Limit::State>* of(const Rule& rule) const noexcept {
    const auto set = sets_.find(rule.id);
    return set == sets_.end() ? nullptr : &set->second;
  }
  /// They become another rule's, as many as there were.
  void hand_over(const StateStore::Heir& heir, std::vector<Limit::State>&& states) {
    const std::size_t count = states.size();
    sets_.insert_or_assign(heir.to.id, std::move(states));
    sets_.erase(heir.from.id);
    bytes_ += count * heir.to.limit.largest_state_bytes();
    bytes_ -= count * heir.from.limit.largest_state_bytes();
  }

  std::size_t bytes() const noexcept { return bytes_; }

 private:
  const std::size_t most_bytes_;
  std::map<std::uint32_t, std::vector<Limit::State>> sets_;
  std::size_t bytes_ = 0;
  std::atomic<bool> exist_{false};
};

}  // namespace weir
