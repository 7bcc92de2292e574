// What a request over several keys decides, said with the pure machines under settle().
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <span>

#include "weir/limit.hpp"
#include "weir/local/table.hpp"

namespace weir::redis {

/// One key under one limit; the state is settled already.
struct TwinPlace {
  const Limit* limit;
  Cost cost = 0;
  Limit::State state{};
  std::size_t first = 0;  ///< the first claim that it stands for

  const Limit::Machine::Config& config() const { return limit->config(); }
};

/// Twin of Table::take_all where no request may wait longer than `slack`.
class JointTwin {
 public:
  using Machine = Limit::Machine;

  JointTwin(std::span<TwinPlace> places, const Request& request, Span slack)
      : places_(places), request_(request), slack_(slack) {}

  JointAnswer take() {
    Ruling ruling = judge();
    for (TwinPlace& place : places_) {
      if (taken(ruling.verdict)) {
        if (place.cost > 0) {
          Machine::charge(place.config(), place.state, ruling.ready_at, place.cost);
        }
      } else if (ruling.verdict == Verdict::denied && refuses(place)) {
        Machine::refuse(place.config(), place.state, request_.now, patience(place), place.cost);
      }
    }
    if (ruling.verdict == Verdict::denied) ruling = judge();
    return answer(ruling);
  }
  JointAnswer peek() { return answer(judge()); }

 private:
  Span patience_under(std::optional<Span> own) const {
    return std::min(slack_, patience_of(request_, own));
  }
  Span patience(const TwinPlace& place) const {
    return patience_under(Machine::own_wait(place.config(), place.cost));
  }
  Instant earliest(const TwinPlace& place) const {
    return Machine::earliest(place.config(), place.state, request_.now, place.cost);
  }
  bool refuses(const TwinPlace& place) const {
    return earliest(place) - request_.now > patience(place);
  }

  Ruling judge() {
    Instant ready_at = request_.now;
    std::optional<Span> own;
    binding_ = 0;
    for (std::size_t at = 0; at < places_.size(); ++at) {
      const TwinPlace& place = places_[at];
      if (place.cost > Machine::capacity(place.config())) {
        binding_ = at;
        return {Verdict::impossible, never};
      }
      if (earliest(place) > ready_at) {
        ready_at = earliest(place);
        binding_ = at;
      }
      const auto wait = Machine::own_wait(place.config(), place.cost);
      if (wait) own = own ? std::min(*own, *wait) : wait;
    }
    const Span patience = patience_under(own);
    if (ready_at - request_.now > patience) return {Verdict::denied, ready_at - patience};
    return {ready_at == request_.now ? Verdict::granted : Verdict::deferred, ready_at};
  }

  JointAnswer answer(const Ruling& ruling) const {
    const Instant now = request_.now;
    std::size_t bound = binding_;
    Room told{0, std::numeric_limits<Cost>::max()};
    Instant reset_at = now;
    for (std::size_t at = 0; at < places_.size(); ++at) {
      const TwinPlace& place = places_[at];
      const Room room = Machine::room(place.config(), place.state, now);
      const bool least = ruling.verdict == Verdict::granted && room.remaining < told.remaining;
      if (least) bound = at;
      if (least || (ruling.verdict != Verdict::granted && at == binding_)) told = room;
      reset_at = std::max(reset_at, Machine::fresh_at(place.config(), place.state));
    }
    return {{ruling.verdict, ruling.ready_at, told.limit, told.remaining, reset_at},
            now,
            places_[bound].first};
  }

  std::span<TwinPlace> places_;
  const Request& request_;
  Span slack_;
  std::size_t binding_ = 0;
};

}  // namespace weir::redis
