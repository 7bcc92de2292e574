// One request over several states: all or none, at one instant at which all of them agree.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>

#include "weir/algorithm/concept.hpp"

namespace weir {

/// What the decision on several states needs of each of them, in a range of places:
///
///   cost       what the request takes of it
///   config()   of its limit
///   slack()    the longest patience that is granted under it; longest_span where there is no bound
///   held       the state: earliest(config, now, cost), charge(config, at, cost),
///              refuse(config, now, patience, cost), shown(config, now), a const State&
///
/// decide_jointly() below is step() over them. The states may be several even of one place: what
/// shared states of a table are.
struct JointDecision {
  Decision decision;
  std::size_t binding = 0;  ///< the place that refuses or delays most, else the one with least left
};

/// The verdict on all places at once; `binding` is the place that it is owed to, if there is one.
template <Algorithm M, typename Places>
Ruling judge_jointly(const Places& places, const Request& request, std::size_t& binding) {
  Instant ready_at = request.now;
  std::optional<Span> own;
  Span slack = longest_span;
  for (std::size_t at = 0; at < places.size(); ++at) {
    const auto& place = places[at];
    if (place.cost > M::capacity(place.config())) {
      binding = at;
      return {Verdict::impossible, never};
    }
    const Instant earliest = place.held.earliest(place.config(), request.now, place.cost);
    if (earliest > ready_at) {
      ready_at = earliest;
      binding = at;
    }
    const auto wait = M::own_wait(place.config(), place.cost);
    if (wait) own = own ? std::min(*own, *wait) : wait;
    slack = std::min(slack, place.slack());
  }
  const Span patience = std::min(patience_of(request, own), slack);
  if (ready_at - request.now > patience) return {Verdict::denied, ready_at - patience};
  return {ready_at == request.now ? Verdict::granted : Verdict::deferred, ready_at};
}

/// What the ruling does to each place: all are charged, or those that refuse by themselves punish.
template <Algorithm M, typename Places>
void apply_jointly(Places& places, const Request& request, const Ruling& ruling) {
  for (auto& place : places) {
    const auto& config = place.config();
    if (taken(ruling.verdict)) {
      if (place.cost > 0) place.held.charge(config, ruling.ready_at, place.cost);
    } else if (ruling.verdict == Verdict::denied) {
      const Span patience =
          std::min(patience_of(request, M::own_wait(config, place.cost)), place.slack());
      if (place.held.earliest(config, request.now, place.cost) - request.now > patience) {
        place.held.refuse(config, request.now, patience, place.cost);
      }
    }
  }
}

/// The numbers of the place that binds; for a grant, of the one with least left.
template <Algorithm M, typename Places>
JointDecision answer_jointly(Places& places, Instant now, const Ruling& ruling,
                             std::size_t binding) {
  JointDecision answer{{ruling.verdict, ruling.ready_at, 0, 0, now}, binding};
  Cost least = std::numeric_limits<Cost>::max();
  for (std::size_t at = 0; at < places.size(); ++at) {
    auto& place = places[at];
    const auto& state = place.held.shown(place.config(), now);
    const Room room = M::room(place.config(), state, now);
    if (ruling.verdict == Verdict::granted ? room.remaining < least : at == binding) {
      least = room.remaining;
      answer.binding = at;
      answer.decision.limit = room.limit;
      answer.decision.remaining = room.remaining;
    }
    answer.decision.reset_at =
        std::max(answer.decision.reset_at, M::fresh_at(place.config(), state));
  }
  return answer;
}

/// Steps every place, or none: charges all of them where the request is taken. `request.cost` is
/// not read. Requires places.
template <Algorithm M, typename Places>
JointDecision decide_jointly(Places& places, const Request& request) {
  std::size_t binding = 0;
  Ruling ruling = judge_jointly<M>(places, request, binding);
  apply_jointly<M>(places, request, ruling);
  if (ruling.verdict == Verdict::denied) ruling = judge_jointly<M>(places, request, binding);
  return answer_jointly<M>(places, request.now, ruling, binding);
}

/// What decide_jointly() would answer; changes nothing.
template <Algorithm M, typename Places>
JointDecision peek_jointly(Places& places, const Request& request) {
  std::size_t binding = 0;
  const Ruling ruling = judge_jointly<M>(places, request, binding);
  return answer_jointly<M>(places, request.now, ruling, binding);
}

}  // namespace weir
