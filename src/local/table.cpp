#include "weir/local/table.hpp"

#include "local/table_parts.hpp"

namespace weir {
namespace {

/// Of all memory for states, what is for those that a key has to itself.
constexpr std::size_t most_own(std::size_t max_bytes) { return max_bytes - max_bytes / 4; }

}  // namespace

Table::Table(const Settings& settings)
    : settings_(settings),
      shards_(std::make_unique<Shard[]>(settings.shards)),
      shared_(std::make_unique<SharedStates>(settings.max_bytes / 4)) {}
Table::Table() : Table(Settings{}) {}
Table::~Table() = default;

std::uint64_t Table::hash_of(const Subject& subject) const noexcept {
  if (subject.hash) return *subject.hash;
  // The rule is part of the name; as a change of the secret it costs nothing.
  const HashKey key{settings_.hash_key.first, settings_.hash_key.second ^ subject.rule->family};
  return keyed_hash(key, subject.key);
}

Table::Shard& Table::shard_of(std::uint64_t hash) const noexcept {
  return shards_[(hash >> 32) & (settings_.shards - 1)];
}

std::uint64_t Table::prefetch(const Subject& subject) const noexcept {
  const std::uint64_t hash = hash_of(subject);
  shard_of(hash).states.prefetch(hash);
  return hash;
}

/// Drops fresh states among the next few. No pointer into the shard's states survives it.
void Table::drop_fresh(Shard& shard, std::size_t budget) {
  const std::size_t before = shard.states.committed();
  const std::size_t dropped = shard.states.sweep(shard.now, budget);
  if (dropped == 0) return;
  keys_.fetch_sub(dropped, std::memory_order_relaxed);
  bytes_.fetch_sub(before - shard.states.committed(), std::memory_order_relaxed);
  shard.dropped += dropped;
}

/// At the cap, looks harder for states to drop.
void Table::make_room(Shard& shard, std::size_t bytes) {
  if (keys_.load(std::memory_order_relaxed) >= settings_.max_keys ||
      bytes_.load(std::memory_order_relaxed) + bytes > most_own(settings_.max_bytes)) {
    drop_fresh(shard, 8);
  }
}

/// Counts one more key that may take so many bytes; false at the cap.
bool Table::reserve(std::size_t bytes) {
  if (keys_.fetch_add(1, std::memory_order_relaxed) < settings_.max_keys) {
    const std::size_t before = bytes_.fetch_add(bytes, std::memory_order_relaxed);
    if (before + bytes <= most_own(settings_.max_bytes)) return true;
    bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  }
  keys_.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

/// Gives back what reserve() counted.
void Table::release(std::size_t bytes) {
  keys_.fetch_sub(1, std::memory_order_relaxed);
  bytes_.fetch_sub(bytes, std::memory_order_relaxed);
}

Answer Table::take(const Subject& subject, const Request& request, Grant* grant) {
  const std::uint64_t hash = hash_of(subject);
  Shard& shard = shard_of(hash);
  const std::lock_guard lock(shard.mutex);
  Request asked = request;
  asked.now = shard.advance(request.now);
  const auto index = shard.states.find({subject.rule, subject.key, hash});
  if (index == StateStore::none) return take_new(shard, hash, subject, asked, grant);

  Limit::State& state = shard.states.state(index);
  const Machine::Config& config = config_of(subject);
  const Decision decision = step<Machine>(config, state, asked);
  if (grant) note_grant<Machine>(config, state, asked.cost, decision, *grant);
  if (++shard.calls % 16 == 0) drop_fresh(shard, 1);
  return {decision, asked.now};
}

Answer Table::take_new(Shard& shard, std::uint64_t hash, const Subject& subject,
                       const Request& asked, Grant* grant) {
  const Machine::Config& config = config_of(subject);
  std::unique_lock<std::mutex> shared_lock;
  Held shared;
  if (shared_->exist()) {
    shared_lock = std::unique_lock(shared_->mutex);
    shared = shared_->find(*subject.rule, hash);
  }
  const auto finish = [&](const Decision& decision, const Limit::State& state) -> Answer {
    if (grant) note_grant<Machine>(config, state, asked.cost, decision, *grant);
    return {decision, asked.now};
  };
  const StateStore::Name name{subject.rule, subject.key, hash};
  const std::size_t bytes = StateStore::largest_bytes(name);
  make_room(shard, bytes);
  if (!reserve(bytes)) {
    ++shard.shared_answers;
    if (!shared_lock) shared_lock = std::unique_lock(shared_->mutex);
    shared = shared_->open(*subject.rule, hash);
    const Decision decision = shared.step(config, asked);
    Answer answer = finish(decision, *shared.first);
    answer.shared = true;
    return answer;
  }
  try {
    // What the key did while it shared states goes with it, or it would be forgiven.
    Limit::State state;
    if (shared.first) {
      shared.order(config, asked.now, 0);
      state = *shared.first;
    }
    const Decision decision = step<Machine>(config, state, asked);
    const Answer answer = finish(decision, state);
    if (changed(config, decision.verdict, asked.cost)) {
      shard.states.insert(name, std::move(state));
      drop_fresh(shard, 2);
    } else {
      release(bytes);
    }
    return answer;
  } catch (...) {
    release(bytes);
    throw;
  }
}

/// Calls action(config, held, now) on the key's states, or on a state never seen.
template <typename Do>
auto Table::with(const Subject& subject, Instant now, Do&& action) {
  const std::uint64_t hash = hash_of(subject);
  Shard& shard = shard_of(hash);
  const std::lock_guard lock(shard.mutex);
  now = shard.advance(now);
  const auto index = shard.states.find({subject.rule, subject.key, hash});
  if (index != StateStore::none) {
    Held held{&shard.states.state(index)};
    if (now <= shard.joint_until) held.turn = Turn::joint;
    return action(config_of(subject), held, now);
  }
  if (shared_->exist()) {
    const std::lock_guard shared_lock(shared_->mutex);
    const Held shared = shared_->find(*subject.rule, hash);
    if (shared.first) return action(config_of(subject), shared, now);
  }
  Limit::State never_seen;
  return action(config_of(subject), Held{&never_seen}, now);
}

Answer Table::peek(const Subject& subject, const Request& request, Grant* grant) {
  return with(subject, request.now, [&](const auto& config, Held held, Instant now) -> Answer {
    Request asked = request;
    asked.now = now;
    const Decision decision = held.peek(config, asked);
    if (grant) note_grant<Machine>(config, *held.first, asked.cost, decision, *grant);
    return {decision, now};
  });
}

// Shared states give nothing back: what a full one did not count for this key, it would give back
// at the cost of another.
Cost Table::cancel(const Subject& subject, Instant now, const Grant& grant) {
  return with(subject, now, [&](const auto& config, Held held, Instant at) {
    if (held.shared) return Cost{0};
    Grant own = grant;
    own.turn = std::max(grant.turn, held.turn);
    return weir::cancel<Machine>(config, *held.first, at, own);
  });
}

Cost Table::refund(const Subject& subject, Instant now, Cost units) {
  return with(subject, now, [&](const auto& config, Held held, Instant at) {
    return held.shared ? 0 : Machine::refund(config, *held.first, at, units);
  });
}

void Table::withdraw(const Subject& subject, Instant now, const Withdrawal& withdrawal) {
  with(subject, now, [&](const auto& config, Held held, Instant at) {
    if (held.shared || held.turn == Turn::joint) return;
    Machine::withdraw(config, *held.first, at, withdrawal);
  });
}

// Nor do they let one leave: two keys may have the same permit in them.
Cost Table::leave(const Subject& subject, Instant now, PermitId permit) {
  return with(subject, now, [&](const auto& config, Held held, Instant at) {
    return held.shared ? Cost{0} : Machine::leave(config, *held.first, at, permit);
  });
}

Span Table::renew(const Subject& subject, Instant now, PermitId permit) {
  return with(subject, now, [&](const auto& config, Held held, Instant at) {
    return held.shared ? Span{0} : Machine::renew(config, *held.first, at, permit);
  });
}

bool Table::reset(const Subject& subject) {
  const std::uint64_t hash = hash_of(subject);
  Shard& shard = shard_of(hash);
  const std::lock_guard lock(shard.mutex);
  const StateStore::Name name{subject.rule, subject.key, hash};
  const auto index = shard.states.find(name);
  if (index == StateStore::none) return false;
  shard.states.erase(index);
  release(StateStore::largest_bytes(name));
  return true;
}

bool Table::each(Cursor& cursor, const std::function<bool(const Kept&)>& show) const {
  if (cursor.shard >= settings_.shards) return false;
  const Shard& shard = shards_[cursor.shard];
  const std::lock_guard lock(shard.mutex);
  const auto next = shard.states.visit(
      cursor.from, [&](const Rule& rule, std::string_view key, const Limit::State& state) {
        return show({rule, key, state});
      });
  cursor = next ? Cursor{cursor.shard, *next} : Cursor{cursor.shard + 1, 0};
  return cursor.shard < settings_.shards;
}

Table::Restored Table::restore(const Subject& subject, Limit::State&& state, Instant now) {
  const std::uint64_t hash = hash_of(subject);
  const StateStore::Name name{subject.rule, subject.key, hash};
  const std::size_t bytes = StateStore::largest_bytes(name);
  Shard& shard = shard_of(hash);
  const std::lock_guard lock(shard.mutex);
  if (Machine::fresh_at(config_of(subject), state) <= shard.advance(now)) return Restored::fresh;
  if (shard.states.find(name) != StateStore::none) return Restored::kept;
  if (!reserve(bytes)) return Restored::no_room;
  try {
    shard.states.insert(name, std::move(state));
  } catch (...) {
    release(bytes);
    throw;
  }
  return Restored::kept;
}

void Table::sweep(Instant now, std::size_t budget) {
  constexpr std::size_t at_a_time = 64;
  for (std::size_t looked = 0; looked < budget; looked += at_a_time) {
    const std::size_t turn = swept_.fetch_add(1, std::memory_order_relaxed);
    Shard& shard = shards_[turn & (settings_.shards - 1)];
    const std::lock_guard lock(shard.mutex);
    shard.advance(now);
    drop_fresh(shard, at_a_time);
  }
}

Table::Stats Table::stats() const {
  Stats stats;
  stats.keys = keys_.load(std::memory_order_relaxed);
  for (std::size_t at = 0; at < settings_.shards; ++at) {
    const Shard& shard = shards_[at];
    const std::lock_guard lock(shard.mutex);
    stats.bytes += shard.states.bytes();
    stats.dropped += shard.dropped;
    stats.shared_answers += shard.shared_answers;
  }
  const std::lock_guard lock(shared_->mutex);
  stats.bytes += shared_->bytes();
  return stats;
}

}  // namespace weir
