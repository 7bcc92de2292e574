// A request over several keys: all or none, at one instant.
#include <array>
#include <limits>
#include <optional>

#include "local/table_parts.hpp"

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
};

/// The places of a request. Room that was set aside for a state which was not kept is given back.
struct Table::Places {
  Places(Table& of, std::size_t most) : table(of) { all.reserve(most); }
  ~Places() {
    for (const Place& place : all) {
      if (place.reserved) table.release(StateStore::largest_bytes(place.name()));
    }
  }
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  Table& table;
  std::vector<Place> all;
};

/// The locks of a request, and the time at which it is decided.
struct Table::Joint {
  std::vector<std::unique_lock<std::mutex>> shards;
  std::unique_lock<std::mutex> shared;
  Instant now;
};

namespace {

/// The verdict on all places at once.
template <typename Places>
Ruling judge_all(const Places& places, const Request& request, std::size_t& binding) {
  Instant ready_at = request.now;
  std::optional<Span> own;
  for (std::size_t at = 0; at < places.size(); ++at) {
    const auto& place = places[at];
    if (place.cost > Machine::capacity(place.config())) {
      binding = at;
      return {Verdict::impossible, never};
    }
    const Instant earliest = place.held.earliest(place.config(), request.now, place.cost);
    if (earliest > ready_at) {
      ready_at = earliest;
      binding = at;
    }
    const auto wait = Machine::own_wait(place.config(), place.cost);
    if (wait) own = own ? std::min(*own, *wait) : wait;
  }
  const Span patience = patience_of(request, own);
  if (ready_at - request.now > patience) return {Verdict::denied, ready_at - patience};
  return {ready_at == request.now ? Verdict::granted : Verdict::deferred, ready_at};
}

/// What the ruling does to each place: all are charged, or those that refuse by themselves punish.
template <typename Places>
void apply(Places& places, Request request, const Ruling& ruling) {
  for (auto& place : places) {
    if (taken(ruling.verdict)) {
      if (place.cost > 0) place.held.charge(place.config(), ruling.ready_at, place.cost);
    } else if (ruling.verdict == Verdict::denied) {
      request.cost = place.cost;
      const Span patience = patience_of(request, Machine::own_wait(place.config(), place.cost));
      if (place.held.earliest(place.config(), request.now, place.cost) - request.now > patience) {
        place.held.refuse(place.config(), request);
      }
    }
  }
}

/// The numbers of the place that binds; for a grant, of the one with least left.
template <typename Places>
JointAnswer summary(Places& places, Instant now, const Ruling& ruling, std::size_t binding) {
  JointAnswer answer{{ruling.verdict, ruling.ready_at, 0, 0, now}, now, binding};
  Cost least = std::numeric_limits<Cost>::max();
  for (std::size_t at = 0; at < places.size(); ++at) {
    auto& place = places[at];
    place.held.order(place.config(), now, 0);
    const Room room = Machine::room(place.config(), *place.held.first, now);
    if (ruling.verdict == Verdict::granted ? room.remaining < least : at == binding) {
      least = room.remaining;
      answer.binding = at;
      answer.decision.limit = room.limit;
      answer.decision.remaining = room.remaining;
    }
    answer.decision.reset_at =
        std::max(answer.decision.reset_at, Machine::fresh_at(place.config(), *place.held.first));
  }
  return answer;
}

}  // namespace

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
  // The same key named twice pays once for both.
  Places kept_or_not(*this, claims.size());
  std::vector<Place>& places = kept_or_not.all;
  std::array<std::size_t, most_claims> place_of{};
  for (std::size_t at = 0; at < claims.size(); ++at) {
    const Subject& subject = claims[at].subject;
    const auto same = std::find_if(places.begin(), places.end(), [&](const Place& place) {
      return place.subject.rule == subject.rule && place.subject.key == subject.key;
    });
    place_of[at] = static_cast<std::size_t>(same - places.begin());
    if (same == places.end()) {
      const std::uint64_t hash = hash_of(subject);
      places.push_back({.subject = subject, .hash = hash, .shard = &shard_of(hash)});
    }
    places[place_of[at]].cost += claims[at].cost;
  }

  Joint joint = lock_all(places, request.now);
  for (Place& place : places) settle(place, joint);
  Request asked = request;
  asked.now = joint.now;
  std::size_t binding = 0;
  Ruling ruling = judge_all(places, asked, binding);
  apply(places, asked, ruling);
  if (ruling.verdict == Verdict::denied) ruling = judge_all(places, asked, binding);

  JointAnswer answer = summary(places, joint.now, ruling, binding);
  for (std::size_t at = 0; grants && at < claims.size(); ++at) {
    const Place& place = places[place_of[at]];
    note_grant<Machine>(place.config(), *place.held.first, claims[at].cost, answer.decision,
                        grants[at]);
    if (places.size() > 1) grants[at].turn = Turn::joint;
  }
  for (Place& place : places) {
    if (ruling.verdict == Verdict::deferred && places.size() > 1) {
      place.shard->joint_until = std::max(place.shard->joint_until, ruling.ready_at);
    }
    keep(place, ruling.verdict);
  }
  // The binding place as the caller counts: the first claim that it stands for.
  answer.binding = static_cast<std::size_t>(
      std::find(place_of.begin(), place_of.end(), answer.binding) - place_of.begin());
  return answer;
}

}  // namespace weir
