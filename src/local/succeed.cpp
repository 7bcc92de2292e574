// States that go over from one rule to another.
#include <utility>

#include "local/table_parts.hpp"

namespace weir {
namespace {

/// The state under the new rule. As in a table that has dropped it, a fresh one says nothing.
Limit::State carried(const Limit::State& state, const Table::Succession& succession) {
  const Machine::Config& before = succession.from.limit.config();
  if (Machine::fresh_at(before, state) <= succession.now) return {};
  const Machine::Config& after = succession.to.limit.config();
  return inherit<Machine>({before, state, succession.now}, {after, succession.now}, succession.how);
}

}  // namespace

void Table::succeed(const Succession& asked, const std::function<void()>& publish) {
  std::vector<std::unique_lock<std::mutex>> locks;
  locks.reserve(settings_.shards + 1);
  Succession succession = asked;
  for (std::size_t at = 0; at < settings_.shards; ++at) {
    locks.emplace_back(shards_[at].mutex);
    succession.now = std::max(succession.now, shards_[at].now);
  }
  locks.emplace_back(shared_->mutex);

  // First all that can fail, then all that changes.
  std::vector<Limit::State> own;
  std::vector<Limit::State> shared;
  for (std::size_t at = 0; at < settings_.shards; ++at) {
    shards_[at].states.each_of(succession.from, [&](const Limit::State& state) {
      own.push_back(carried(state, succession));
    });
  }
  if (const auto* const set = shared_->of(succession.from)) {
    shared.reserve(set->size());
    for (const Limit::State& state : *set) shared.push_back(carried(state, succession));
    shared_->hand_over({succession.from, succession.to}, std::move(shared));
  }
  auto next = own.begin();
  for (std::size_t at = 0; at < settings_.shards; ++at) {
    Shard& shard = shards_[at];
    shard.advance(succession.now);
    shard.states.each_of(succession.from, [&](Limit::State& state) { state = std::move(*next++); });
    const std::size_t before = shard.states.committed();
    shard.states.hand_over({succession.from, succession.to});
    bytes_.fetch_add(shard.states.committed() - before, std::memory_order_relaxed);
  }
  publish();
}

bool Table::succeed(std::string_view key, const Succession& asked,
                    const std::function<void()>& publish) {
  const std::uint64_t hash = hash_of({&asked.from, key});
  Shard& shard = shard_of(hash);
  const std::lock_guard lock(shard.mutex);
  Succession succession = asked;
  succession.now = shard.advance(asked.now);
  const auto index = shard.states.find({&asked.from, key, hash});
  if (index != StateStore::none) {
    shard.states.state(index) = carried(shard.states.state(index), succession);
    const std::size_t before = shard.states.committed();
    shard.states.hand_over(index, asked.to);
    bytes_.fetch_add(shard.states.committed() - before, std::memory_order_relaxed);
    publish();
    return true;
  }
  Limit::State state;
  if (shared_->exist()) {
    const std::lock_guard shared_lock(shared_->mutex);
    Held shared = shared_->find(asked.from, hash);
    if (shared.first) {
      shared.order(asked.from.limit.config(), succession.now, 0);
      state = carried(*shared.first, succession);
    }
  }
  if (Machine::fresh_at(asked.to.limit.config(), state) > succession.now) {
    const StateStore::Name name{&asked.to, key, hash};
    const std::size_t bytes = StateStore::largest_bytes(name);
    make_room(shard, bytes);
    if (!reserve(bytes)) return false;
    try {
      shard.states.insert(name, std::move(state));
    } catch (...) {
      release(bytes);
      throw;
    }
  }
  publish();
  return true;
}

}  // namespace weir
