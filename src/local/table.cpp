#include "weir/local/table.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "local/shard.hpp"

namespace weir {

using Machine = Limit::Machine;

namespace {

const Machine::Config& config_of(const Subject& subject) noexcept {
  return subject.config ? *subject.config : subject.rule->limit.config();
}

/// Whether a step with this outcome left something to remember.
bool changed(const Machine::Config& config, Verdict verdict, Cost cost) noexcept {
  if (cost == 0) return false;
  // Only a penalty is written by a refusal, and only composites have one.
  return taken(verdict) || (verdict == Verdict::denied &&
                            std::holds_alternative<Limit::Composite::Config>(config));
}

}  // namespace

struct alignas(64) Table::Shard {
  mutable std::mutex mutex;
  StateStore states;
  Instant now = Instant::min();  ///< the latest reading; earlier ones are raised to it
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

  void refuse(const Machine::Config& config, const Request& request) const {
    const Span patience = patience_of(request, Machine::own_wait(config, request.cost));
    Machine::refuse(config, *first, request.now, patience, request.cost);
    if (second) Machine::refuse(config, *second, request.now, patience, request.cost);
  }

  Decision step(const Machine::Config& config, const Request& request) {
    if (!second) return weir::step<Machine>(config, *first, request);
    if (request.cost > Machine::capacity(config)) return peek(config, request);
    order(config, request.now, request.cost);
    const Decision decision = weir::step<Machine>(config, *first, request);
    if (decision.verdict == Verdict::denied) {
      const Held other{second, nullptr, true};
      other.refuse(config, request);
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
      const std::size_t size = std::clamp<std::size_t>(fit, 256, shared_states) / share;
      sets_.emplace(rule.id, std::vector<Limit::State>(std::max<std::size_t>(size, 1)));
      bytes_ += size * sizeof(Limit::State);
      exist_.store(true, std::memory_order_release);
    }
    return find(rule, hash);
  }

  std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::map<std::uint32_t, std::vector<Limit::State>> sets_;
  std::size_t bytes_ = 0;
  std::atomic<bool> exist_{false};
};

Table::Table(const Settings& settings)
    : settings_(settings),
      shards_(std::make_unique<Shard[]>(settings.shards)),
      shared_(std::make_unique<SharedStates>()) {}
Table::Table() : Table(Settings{}) {}
Table::~Table() = default;

std::uint64_t Table::hash_of(const Subject& subject) const noexcept {
  // The rule is part of the name; as a change of the secret it costs nothing.
  const HashKey key{settings_.hash_key.first, settings_.hash_key.second ^ subject.rule->id};
  return keyed_hash(key, subject.key);
}

Table::Shard& Table::shard_of(std::uint64_t hash) const noexcept {
  return shards_[(hash >> 32) & (settings_.shards - 1)];
}

/// Drops fresh states among the next few. No pointer into the shard's states survives it.
void Table::drop_fresh(Shard& shard, std::size_t budget) {
  const std::size_t dropped = shard.states.sweep(shard.now, budget);
  keys_.fetch_sub(dropped, std::memory_order_relaxed);
  shard.dropped += dropped;
}

/// At the cap, looks harder for states to drop.
void Table::make_room(Shard& shard) {
  if (keys_.load(std::memory_order_relaxed) >= settings_.max_keys) drop_fresh(shard, 8);
}

/// Counts one more key; false at the cap.
bool Table::reserve() {
  if (keys_.fetch_add(1, std::memory_order_relaxed) < settings_.max_keys) return true;
  keys_.fetch_sub(1, std::memory_order_relaxed);
  return false;
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
  make_room(shard);
  if (!reserve()) {
    ++shard.shared_answers;
    if (!shared_lock) shared_lock = std::unique_lock(shared_->mutex);
    shared = shared_->open(*subject.rule, hash);
    const Decision decision = shared.step(config, asked);
    return finish(decision, *shared.first);
  }
  // What the key did while it shared states goes with it, or it would be forgiven.
  Limit::State state;
  if (shared.first) {
    shared.order(config, asked.now, 0);
    state = *shared.first;
  }
  const Decision decision = step<Machine>(config, state, asked);
  const Answer answer = finish(decision, state);
  if (!changed(config, decision.verdict, asked.cost)) {
    keys_.fetch_sub(1, std::memory_order_relaxed);
    return answer;
  }
  try {
    shard.states.insert({subject.rule, subject.key, hash}, std::move(state));
  } catch (...) {
    keys_.fetch_sub(1, std::memory_order_relaxed);
    throw;
  }
  drop_fresh(shard, 2);
  return answer;
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
    return action(config_of(subject), Held{&shard.states.state(index)}, now);
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
    return held.shared ? 0 : weir::cancel<Machine>(config, *held.first, at, grant);
  });
}

Cost Table::refund(const Subject& subject, Instant now, Cost units) {
  return with(subject, now, [&](const auto& config, Held held, Instant at) {
    return held.shared ? 0 : Machine::refund(config, *held.first, at, units);
  });
}

bool Table::reset(const Subject& subject) {
  const std::uint64_t hash = hash_of(subject);
  Shard& shard = shard_of(hash);
  const std::lock_guard lock(shard.mutex);
  const auto index = shard.states.find({subject.rule, subject.key, hash});
  if (index == StateStore::none) return false;
  shard.states.erase(index);
  keys_.fetch_sub(1, std::memory_order_relaxed);
  return true;
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

/// One claim of a request over several keys, while all its locks are held.
struct Table::Place {
  Subject subject;
  Cost cost = 0;
  std::uint64_t hash = 0;
  Shard* shard = nullptr;
  Held held;
  Limit::State state;    ///< of a key that is not kept yet
  bool reserved = false;  ///< room is set aside for it
};

namespace {

/// The verdict of all claims at once.
template <typename Places>
Ruling judge_all(const Places& places, const Request& request, std::size_t& binding) {
  Instant ready_at = request.now;
  std::optional<Span> own;
  for (std::size_t at = 0; at < places.size(); ++at) {
    const auto& place = places[at];
    const auto& config = config_of(place.subject);
    if (place.cost > Machine::capacity(config)) {
      binding = at;
      return {Verdict::impossible, never};
    }
    const Instant earliest = place.held.earliest(config, request.now, place.cost);
    if (earliest > ready_at) {
      ready_at = earliest;
      binding = at;
    }
    const auto wait = Machine::own_wait(config, place.cost);
    if (wait) own = own ? std::min(*own, *wait) : wait;
  }
  const Span patience = patience_of(request, own);
  if (ready_at - request.now > patience) return {Verdict::denied, ready_at - patience};
  return {ready_at == request.now ? Verdict::granted : Verdict::deferred, ready_at};
}

}  // namespace

JointAnswer Table::take_all(std::span<const Claim> claims, const Request& request, Grant* grants) {
  // The same key named twice pays once for both.
  std::vector<Place> places;
  places.reserve(claims.size());
  std::array<std::size_t, most_claims> place_of{};
  for (std::size_t at = 0; at < claims.size(); ++at) {
    const Subject& subject = claims[at].subject;
    const auto same = std::find_if(places.begin(), places.end(), [&](const Place& place) {
      return place.subject.rule == subject.rule && place.subject.key == subject.key;
    });
    place_of[at] = static_cast<std::size_t>(same - places.begin());
    if (same == places.end()) {
      Place& place = places.emplace_back();
      place.subject = subject;
      place.hash = hash_of(subject);
      place.shard = &shard_of(place.hash);
    }
    places[place_of[at]].cost += claims[at].cost;
  }

  // Locks are taken in the order of the shards, so that no two requests wait for each other.
  std::vector<Shard*> shards;
  for (const Place& place : places) shards.push_back(place.shard);
  std::sort(shards.begin(), shards.end());
  shards.erase(std::unique(shards.begin(), shards.end()), shards.end());
  std::vector<std::unique_lock<std::mutex>> locks;
  for (Shard* shard : shards) locks.emplace_back(shard->mutex);
  std::unique_lock shared_lock(shared_->mutex, std::defer_lock);
  if (shared_->exist()) shared_lock.lock();

  Request asked = request;
  for (const Shard* shard : shards) asked.now = std::max(asked.now, shard->now);
  for (Shard* shard : shards) shard->advance(asked.now);

  for (const Place& place : places) make_room(*place.shard);
  for (Place& place : places) {
    const auto index =
        place.shard->states.find({place.subject.rule, place.subject.key, place.hash});
    if (index != StateStore::none) {
      place.held = {&place.shard->states.state(index)};
      continue;
    }
    place.reserved = reserve();
    if (!place.reserved && !shared_lock) shared_lock.lock();
    if (place.reserved) {
      Held shared;
      if (shared_lock) shared = shared_->find(*place.subject.rule, place.hash);
      if (shared.first) {
        shared.order(config_of(place.subject), asked.now, 0);
        place.state = *shared.first;
      }
      place.held = {&place.state};
    } else {
      ++place.shard->shared_answers;
      place.held = shared_->open(*place.subject.rule, place.hash);
    }
  }

  std::size_t binding = 0;
  Ruling ruling = judge_all(places, asked, binding);
  for (Place& place : places) {
    const Machine::Config& config = config_of(place.subject);
    if (taken(ruling.verdict)) {
      if (place.cost > 0) place.held.charge(config, ruling.ready_at, place.cost);
    } else if (ruling.verdict == Verdict::denied) {
      asked.cost = place.cost;
      const Span patience = patience_of(asked, Machine::own_wait(config, place.cost));
      if (place.held.earliest(config, asked.now, place.cost) - asked.now > patience) {
        place.held.refuse(config, asked);
      }
    }
  }
  if (ruling.verdict == Verdict::denied) ruling = judge_all(places, asked, binding);

  JointAnswer answer{{ruling.verdict, ruling.ready_at, 0, 0, asked.now}, asked.now, binding};
  Cost least = std::numeric_limits<Cost>::max();
  for (std::size_t at = 0; at < places.size(); ++at) {
    const Place& place = places[at];
    const Machine::Config& config = config_of(place.subject);
    const Room room = Machine::room(config, *place.held.first, asked.now);
    const bool shown = ruling.verdict == Verdict::granted ? room.remaining < least : at == binding;
    if (shown) {
      least = room.remaining;
      answer.binding = at;
      answer.decision.limit = room.limit;
      answer.decision.remaining = room.remaining;
    }
    answer.decision.reset_at =
        std::max(answer.decision.reset_at, Machine::fresh_at(config, *place.held.first));
  }
  if (grants) {
    for (std::size_t at = 0; at < claims.size(); ++at) {
      const Place& place = places[place_of[at]];
      note_grant<Machine>(config_of(place.subject), *place.held.first, claims[at].cost,
                          answer.decision, grants[at]);
      if (places.size() > 1) grants[at].turn = Turn::joint;
    }
  }
  // The binding place as the caller counts: the first claim that it stands for.
  answer.binding = static_cast<std::size_t>(
      std::find(place_of.begin(), place_of.end(), answer.binding) - place_of.begin());

  for (Place& place : places) {
    if (!place.reserved) continue;
    if (!changed(config_of(place.subject), ruling.verdict, place.cost)) {
      keys_.fetch_sub(1, std::memory_order_relaxed);
      continue;
    }
    place.shard->states.insert({place.subject.rule, place.subject.key, place.hash},
                               std::move(place.state));
    drop_fresh(*place.shard, 2);
  }
  return answer;
}

}  // namespace weir
