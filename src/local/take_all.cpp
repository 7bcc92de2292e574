// A request over several keys: all or none, at one instant.
#include <array>

#include "local/table_parts.hpp"
#include "weir/algorithm/joint.hpp"

namespace weir {

/// One key of the request, while all its locks are held.
struct Table::Place {
  Subject subject;
  Cost cost = 0;
  std::uint64_t hash = 0;
  Shard* shard = nullptr;
  Held held{};
  Limit::State state{};   ///< of a key that is not kept yet
  bool reserved = false;  ///< room is set aside for it

  StateStore::Name name() const { return {subject.rule, subject.key, hash}; }
  const Machine::Config& config() const { return config_of(subject); }
  Span slack() const { return longest_span; }
};

/// The places of a request: the same key named twice pays once for both. Room that was set aside
/// for a state which was not kept is given back.
struct Table::Places {
  Places(Table& of, std::span<const Claim> claims) : table(of) {
    all.reserve(claims.size());
    for (std::size_t at = 0; at < claims.size(); ++at) {
      const Subject& subject = claims[at].subject;
      const auto same = std::find_if(all.begin(), all.end(), [&](const Place& place) {
        return place.subject.rule == subject.rule && place.subject.key == subject.key;
      });
      place_of[at] = static_cast<std::size_t>(same - all.begin());
      if (same == all.end()) {
        const std::uint64_t hash = table.hash_of(subject);
        all.push_back({.subject = subject, .hash = hash, .shard = &table.shard_of(hash)});
      }
      all[place_of[at]].cost += claims[at].cost;
    }
  }
  ~Places() {
    for (const Place& place : all) {
      if (place.reserved) table.release(StateStore::largest_bytes(place.name()));
    }
  }
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  /// The first claim that the place stands for.
  std::size_t claim_of(std::size_t place) const {
    return static_cast<std::size_t>(std::find(place_of.begin(), place_of.end(), place) -
                                    place_of.begin());
  }

  Table& table;
  std::vector<Place> all;
  std::array<std::size_t, most_claims> place_of{};  ///< of each claim
};

/// The locks of a request, and the time at which it is decided.
struct Table::Joint {
  std::vector<std::unique_lock<std::mutex>> shards;
  std::unique_lock<std::mutex> shared;
  Instant now;
};

/// Locks are taken in the order of the shards, so that no two requests wait for each other.
Table::Joint Table::lock_all(const std::vector<Place>& places, Instant now) {
  std::vector<Shard*> shards;
  shards.reserve(places.size());
  for (const Place& place : places) shards.push_back(place.shard);
  std::sort(shards.begin(), shards.end());
  shards.erase(std::unique(shards.begin(), shards.end()), shards.end());
  Joint joint{{}, std::unique_lock(shared_->mutex, std::defer_lock), now};
  joint.shards.reserve(shards.size());
  for (Shard* shard : shards) {
    joint.shards.emplace_back(shard->mutex);
    joint.now = std::max(joint.now, shard->now);
  }
  for (Shard* shard : shards) {
    shard->advance(joint.now);
  }
  for (const Place& place : places) {
    make_room(*place.shard, StateStore::largest_bytes(place.name()));
  }
  if (shared_->exist()) joint.shared.lock();
  return joint;
}

/// Finds the states that decide for the place, or sets room aside for a new one.
void Table::settle(Place& place, Joint& joint) {
  const auto index = place.shard->states.find(place.name());
  if (index != StateStore::none) {
    place.held = {&place.shard->states.state(index)};
    return;
  }
  place.reserved = reserve(StateStore::largest_bytes(place.name()));
  if (!place.reserved) {
    ++place.shard->shared_answers;
    if (!joint.shared) joint.shared.lock();
    place.held = shared_->open(*place.subject.rule, place.hash);
    return;
  }
  Held shared;
  if (joint.shared) shared = shared_->find(*place.subject.rule, place.hash);
  if (shared.first) {
    shared.order(place.config(), joint.now, 0);
    place.state = *shared.first;
  }
  place.held = {&place.state};
}

/// Keeps the state of a new key, where there is something to remember.
void Table::keep(Place& place, Verdict verdict) {
  if (!place.reserved) return;
  if (!changed(place.config(), verdict, place.cost)) return;
  place.shard->states.insert(place.name(), std::move(place.state));
  place.reserved = false;  // the state has it now
  drop_fresh(*place.shard, 2);
}

JointAnswer Table::take_all(std::span<const Claim> claims, const Request& request, Grant* grants) {
  Places of_request(*this, claims);
  std::vector<Place>& places = of_request.all;
  Joint joint = lock_all(places, request.now);
  for (Place& place : places) settle(place, joint);
  Request asked = request;
  asked.now = joint.now;
  const JointDecision decided = decide_jointly<Machine>(places, asked);
  const JointAnswer answer{decided.decision, joint.now, of_request.claim_of(decided.binding)};
  for (std::size_t at = 0; grants && at < claims.size(); ++at) {
    const Place& place = places[of_request.place_of[at]];
    note_grant<Machine>(place.config(), *place.held.first, claims[at].cost, answer.decision,
                        grants[at]);
    if (places.size() > 1) grants[at].turn = Turn::joint;
  }
  for (Place& place : places) {
    if (answer.decision.verdict == Verdict::deferred && places.size() > 1) {
      place.shard->joint_until = std::max(place.shard->joint_until, answer.decision.ready_at);
    }
    keep(place, answer.decision.verdict);
  }
  return answer;
}

JointAnswer Table::peek_all(std::span<const Claim> claims, const Request& request) {
  Places of_request(*this, claims);
  Joint joint = lock_all(of_request.all, request.now);
  for (Place& place : of_request.all) settle(place, joint);
  Request asked = request;
  asked.now = joint.now;
  const JointDecision decided = peek_jointly<Machine>(of_request.all, asked);
  return {decided.decision, joint.now, of_request.claim_of(decided.binding)};
}

}  // namespace weir
