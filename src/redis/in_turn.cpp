#include "redis/in_turn.hpp"

#include <algorithm>
#include <numeric>

#include "redis/slots.hpp"

namespace weir::redis {

std::vector<std::vector<std::size_t>> InTurn::slots_of(const std::vector<std::string>& keys) {
  std::vector<std::size_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t at) { return keys[at]; });
  std::vector<std::vector<std::size_t>> slots;
  for (const std::size_t at : order) {
    const auto same = std::ranges::find_if(
        slots, [&](const auto& slot) { return slot_of(keys[slot.front()]) == slot_of(keys[at]); });
    if (same != slots.end()) {
      same->push_back(at);
    } else {
      slots.push_back({at});
    }
  }
  return slots;
}

void InTurn::ask_next() {
  if (taken_.size() == slots_.size()) return tell_all();
  auto part = std::make_shared<RemoteRequest>();
  part->question = whole_->question;
  for (const std::size_t at : slots_[taken_.size()]) part->parts.push_back(whole_->parts[at]);
  part->patience = Span{0};
  part->asked_at = whole_->asked_at;
  part->alone = true;
  part->bare = true;
  part->then = [self = shared_from_this()](RemoteAnswer&& answer) {
    self->heard(std::move(answer));
  };
  verbs_.ask(part);
}

void InTurn::heard(RemoteAnswer&& answer) {
  if (answer.trouble) {
    give_all_back();
    return verbs_.without_store(*whole_, answer.trouble);
  }
  if (taken(answer.decision.verdict)) {
    taken_.push_back(std::move(answer));
    return ask_next();
  }
  answer.binding = slots_[taken_.size()][answer.binding];
  answer.atomic = false;
  give_all_back();
  whole_->then(std::move(answer));
}

void InTurn::give_all_back() {
  if (whole_->question == StandIn::Question::peek) return;
  const std::vector<Claim> claims = whole_->claims();
  for (std::size_t slot = taken_.size(); slot-- > 0;) {
    for (std::size_t at = slots_[slot].size(); at-- > 0;) {
      verbs_.give_back(claims[slots_[slot][at]], taken_[slot].grants.at(at));
    }
  }
}

/// The numbers are those of the slot that has least left, and by its node's clock.
void InTurn::tell_all() {
  const auto least = std::ranges::min_element(
      taken_, {}, [](const RemoteAnswer& answer) { return answer.decision.remaining; });
  RemoteAnswer all{.decision = least->decision, .decided_at = least->decided_at, .atomic = false};
  all.binding = slots_[static_cast<std::size_t>(least - taken_.begin())][least->binding];
  all.grants.resize(whole_->parts.size());
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    const RemoteAnswer& answer = taken_[slot];
    const Span lasts_for = answer.decision.reset_at - answer.decided_at;
    all.decision.reset_at = std::max(all.decision.reset_at, all.decided_at + lasts_for);
    for (std::size_t at = 0; at < slots_[slot].size(); ++at) {
      all.grants[slots_[slot][at]] = answer.grants.at(at);
    }
  }
  whole_->then(std::move(all));
}

}  // namespace weir::redis
