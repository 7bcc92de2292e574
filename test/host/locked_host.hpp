// Limiters of this process as a host under test: one for each key and limit.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "test/host/differential.hpp"
#include "weir/local/limiter.hpp"

namespace weir::host {

/// Each call reads the clock late: the newest reading was seen before.
class LockedHost : public Host {
 public:
  std::string name() const override { return "locked"; }
  bool gives_back() const override { return false; }

  Decision take(const Subject& subject, const Request& request, std::size_t) override {
    Kept& kept = kept_at(subject);
    const SteadyInstant now = steady(request.now);
    const SteadyInstant late = late_reading(kept, now);
    const bool waits = request.patience ? *request.patience > Span{0}
                                        : own_wait(subject, request.cost).has_value();
    Outcome outcome;
    if (waits) {
      kept.places.emplace_back();
      outcome = kept.host.join(kept.places.back(), late, request.cost, patience(request));
      if (request.cost == 0 || kept.places.back().state != Place::State::in_line) {
        kept.places.pop_back();
      }
    } else {
      outcome = kept.host.try_take(late, request.cost);
    }
    const Decision told = decision(kept, outcome, request, late);
    if (waits && request.cost == 0)
      told_ = Told::nothing;  // who asks for nothing waits for nothing
    return told;
  }

  Decision peek(const Subject& subject, const Request& request) override {
    Kept& kept = kept_at(subject);
    const SteadyInstant late = late_reading(kept, steady(request.now));
    const Outcome outcome = kept.host.peek(late, request.cost).outcome;
    const bool waits = request.patience ? *request.patience > Span{0}
                                        : own_wait(subject, request.cost).has_value();
    const Decision told = decision(kept, outcome, request, late);
    if (waits) told_ = Told::nothing;  // a limiter peeks for who does not wait
    return told;
  }

  Cost cancel(const Subject&, Instant, std::size_t) override { return 0; }
  Cost refund(const Subject&, Instant, Cost) override { return 0; }
  bool reset(const Subject& subject, Instant) override {
    return kept_.erase({subject.limit.text(), std::string(subject.key)}) > 0;
  }

  /// While somebody is in line nothing remains; a machine counts who may queue.
  Decision comparable(Decision decision) const override {
    if (told_ == Told::nothing) return {};
    if (told_ == Told::all_but_remaining) decision.remaining = 0;
    return decision;
  }

  std::size_t deferred() const { return deferred_; }

 private:
  struct Held final : Place {
    Held() : Place(Kind::reservation) {}
  };
  struct Kept {
    explicit Kept(const Limit& limit) : host(limit.config()) {}
    std::deque<Held> places;  // the line in the host links them, and goes first
    weir::Host<LimitState> host;
    std::size_t readings = 0;
  };
  enum class Told { all, all_but_remaining, nothing };

  static SteadyInstant steady(Instant now) { return SteadyInstant{now.time_since_epoch()}; }
  static std::optional<Span> own_wait(const Subject& subject, Cost cost) {
    return Limit::Machine::own_wait(subject.limit.config(), cost);
  }
  static std::chrono::nanoseconds patience(const Request& request) {
    return request.patience ? std::chrono::nanoseconds(*request.patience)
                            : std::chrono::nanoseconds::max();
  }

  Kept& kept_at(const Subject& subject) {
    const std::pair key{subject.limit.text(), std::string(subject.key)};
    auto found = kept_.find(key);
    if (found == kept_.end()) {
      found = kept_.emplace(key, std::make_unique<Kept>(subject.limit)).first;
    }
    Kept& kept = *found->second;
    while (!kept.places.empty() && kept.places.front().state != Place::State::in_line) {
      kept.places.pop_front();
    }
    return kept;
  }

  static SteadyInstant late_reading(Kept& kept, SteadyInstant now) {
    static_cast<void>(kept.host.peek(now, 0));
    return ++kept.readings % 3 == 0 ? now - std::chrono::milliseconds{7} : now;
  }

  Decision decision(Kept& kept, const Outcome& outcome, const Request& request,
                    SteadyInstant reading) {
    const Standing standing = kept.host.peek(steady(request.now), request.cost);
    told_ = kept.host.waiting() > 0 ? Told::all_but_remaining : Told::all;
    if (outcome.verdict == Verdict::deferred) ++deferred_;
    Instant ready_at = LimitState::ticks(outcome.ready_at);
    if (outcome.verdict == Verdict::granted && outcome.ready_at == reading) {
      ready_at = request.now;
    }
    if (outcome.verdict == Verdict::impossible) ready_at = never;
    return {outcome.verdict, ready_at, standing.limit, standing.remaining,
            LimitState::ticks(standing.reset_at)};
  }

  std::map<std::pair<std::string, std::string>, std::unique_ptr<Kept>> kept_;
  Told told_ = Told::all;
  std::size_t deferred_ = 0;
};

}  // namespace weir::host
