// Every schedule over a small alphabet of events, walked depth first.
#pragma once

#include <array>
#include <sstream>
#include <string>

#include "test/law/law.hpp"

namespace weir::law {

/// One letter of the alphabet.
struct Event {
  enum class Kind : std::uint8_t { take, cancel_newest, cancel_oldest, refund_newest };
  Kind kind = Kind::take;
  Span step{0};  ///< since the event before
  Cost cost = 0;
  std::optional<Span> patience{};
};

/// Steps 0, 1, 2, 5 and -1 x costs 1, 2 x patience none, 3; a probe; cancel newest and oldest;
/// refund newest.
inline constexpr std::size_t letters = 24;

inline const std::array<Event, letters>& alphabet() {
  static const std::array<Event, letters> events = [] {
    std::array<Event, letters> made{};
    std::size_t at = 0;
    for (const int step : {0, 1, 2, 5, -1}) {
      for (const Cost cost : {1, 2}) {
        made[at++] = {Event::Kind::take, Span{step}, cost, {}};
        made[at++] = {Event::Kind::take, Span{step}, cost, Span{3}};
      }
    }
    made[at++] = {Event::Kind::take, Span{0}, 0, {}};
    made[at++] = {Event::Kind::cancel_newest};
    made[at++] = {Event::Kind::cancel_oldest};
    made[at++] = {Event::Kind::refund_newest};
    return made;
  }();
  return events;
}

inline std::string print(const Event& event) {
  std::ostringstream text;
  switch (event.kind) {
    case Event::Kind::cancel_newest: return "cancel newest";
    case Event::Kind::cancel_oldest: return "cancel oldest";
    case Event::Kind::refund_newest: return "refund newest";
    case Event::Kind::take:
      text << "after " << event.step.count() << ": take " << event.cost;
      if (event.patience) text << " patience " << event.patience->count();
      return text.str();
  }
  return {};
}

/// What a walk over all schedules found.
struct Report {
  std::size_t schedules = 0;  ///< full-length ones; shorter ones are their beginnings
  std::size_t events = 0;
  std::size_t grants = 0;
  std::size_t cancels = 0;
  std::string violation;  ///< the first broken law and its schedule; empty: none
};

template <typename M>
class Explorer {
 public:
  Explorer(const typename M::Config& config, std::size_t depth) : laws_(config), depth_(depth) {}

  Report run() {
    Position<M> start;
    start.now = Instant{Span{-2}};  // so that aligned windows are seen on both sides of the epoch
    walk(start, 0);
    report_.grants = laws_.grants_checked();
    report_.cancels = laws_.cancels_checked();
    return report_;
  }

 private:
  void walk(const Position<M>& from, std::size_t depth) {
    if (depth == depth_) {
      ++report_.schedules;
      return;
    }
    for (const Event& event : alphabet()) {
      path_[depth] = &event;
      follow(from, event, depth);
      if (!report_.violation.empty()) return;
    }
  }

  void follow(const Position<M>& from, const Event& event, std::size_t depth) {
    auto& ledger = laws_.ledger();
    const std::size_t held = ledger.size();
    std::size_t index = held;
    if (event.kind != Event::Kind::take) {
      index = find(from, event.kind);
      if (index == held) return;  // nothing to give back: not a schedule of its own
    }
    const Held kept = index < held ? ledger[index] : Held{};

    Position<M> to = from;
    if (event.kind == Event::Kind::take) {
      (void)laws_.take(to, {from.now + event.step, event.cost, event.patience});
    } else if (event.kind == Event::Kind::refund_newest) {
      laws_.refund(to, index);
    } else {
      laws_.cancel(to, index);
    }
    ++report_.events;
    if (!laws_.violation().empty()) {
      tell(depth);
      return;
    }
    walk(to, depth + 1);
    if (index < held) ledger[index] = kept;
    ledger.resize(held);
  }

  /// The grant that the event gives back; the ledger's size where there is none.
  std::size_t find(const Position<M>& at, Event::Kind kind) {
    const auto& ledger = laws_.ledger();
    std::size_t oldest = ledger.size();
    for (std::size_t index = ledger.size(); index-- > 0;) {
      const Held& held = ledger[index];
      if (kind == Event::Kind::refund_newest) {
        if (held.live == 0) continue;
        const bool used = held.grant.acts_at <= at.now && !held.given_back;
        return used ? index : ledger.size();
      }
      if (!laws_.can_cancel(at, held)) continue;
      if (kind == Event::Kind::cancel_newest) return index;
      oldest = index;
    }
    // With one grant to cancel, the newest and the oldest are the same schedule.
    if (oldest < ledger.size() && find(at, Event::Kind::cancel_newest) == oldest) {
      return ledger.size();
    }
    return oldest;
  }

  void tell(std::size_t depth) {
    std::ostringstream text;
    text << laws_.violation() << "; from -2:";
    for (std::size_t at = 0; at <= depth; ++at) text << "\n  " << print(*path_[at]);
    report_.violation = text.str();
  }

  Laws<M> laws_;
  std::size_t depth_;
  std::array<const Event*, 8> path_{};
  Report report_;
};

}  // namespace weir::law
