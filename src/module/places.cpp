#include "module/places.hpp"

#include <algorithm>
#include <utility>

namespace weir::module {

Expected<Places, std::string> Places::open(Context* context, std::vector<Claim>&& claims,
                                           Key::Use use, Instant now) {
  Places places;
  places.all_.reserve(claims.size());
  for (std::size_t at = 0; at < claims.size(); ++at) {
    Claim& claim = claims[at];
    const std::string_view name = view(claim.name.get());
    const auto same = std::find_if(places.all_.begin(), places.all_.end(),
                                   [&](const Place& place) { return place.kept.name() == name; });
    places.of_claim_[at] = static_cast<std::size_t>(same - places.all_.begin());
    if (same == places.all_.end()) {
      auto opened = KeptState::open(context, {std::move(claim.name), *claim.limit, use, now});
      if (!opened) return opened.error();
      places.all_.push_back({.kept = std::move(opened).value(), .first = at});
    } else if (same->kept.limit() != *claim.limit) {
      return "ERR weir: key " + std::string(name) + " is named twice, with two limits";
    }
    places.all_[places.of_claim_[at]].cost += claim.cost;
  }
  for (Place& place : places.all_) {
    place.held.of = &place.kept;  // where it stays: the vector is moved whole
    if (place.punishes()) place.before = place.kept.state();
  }
  return places;
}

void Places::keep(Verdict verdict, Instant now) {
  for (Place& place : all_) {
    const bool changed =
        taken(verdict) ? place.cost > 0 : place.punishes() && place.before != place.kept.state();
    if (changed || place.kept.settled()) place.kept.keep(now);
  }
}

JointDecision Places::take(Instant now, std::optional<Span> patience) {
  const JointDecision made = decide_jointly<Limit::Machine>(all_, {now, 0, patience});
  keep(made.decision.verdict, now);
  return made;
}

JointDecision Places::peek(Instant now, std::optional<Span> patience) {
  return peek_jointly<Limit::Machine>(all_, {now, 0, patience});
}

}  // namespace weir::module
