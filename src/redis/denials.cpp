#include "redis/denials.hpp"

#include <algorithm>

namespace weir::redis {

Denials::Denials(std::size_t most) {
  const std::size_t pairs_each = (most / 2 + shards_.size() - 1) / shards_.size();
  slots_ = most == 0 ? 0 : 2 * std::max<std::size_t>(pairs_each, 1);
}

Denials::Place Denials::place_of(std::string_view key) {
  const std::uint64_t hash = keyed_hash(hash_key_, key);
  return {&shards_[hash % shards_.size()], hash / shards_.size() % (slots_ / 2) * 2};
}

Denials::Found Denials::find(const Question& question) {
  if (slots_ == 0) return {};
  const auto [shard, first] = place_of(question.key);
  const std::lock_guard lock(shard->mutex);
  Found found{.forgotten = shard->forgotten};
  if (shard->slots.empty()) return found;
  for (std::size_t slot = first; slot < first + 2; ++slot) {
    const Denial* const kept = shard->slots[slot].get();
    if (kept == nullptr || question.now >= kept->ends_at || kept->key != question.key ||
        kept->limit != question.limit || question.cost < kept->cost ||
        question.patience > kept->patience) {
      continue;
    }
    Answer answer = kept->answer;
    // Another thread may have asked the time before the answer came.
    const auto since = std::max(question.now - kept->heard_at, SteadyInstant::duration{0});
    answer.decided_at += std::chrono::floor<Span>(since);
    answer.decision.ready_at += kept->patience - question.patience;
    answer.decision.reset_at = std::max(answer.decision.reset_at, answer.decided_at);
    found.answer = answer;
  }
  return found;
}

void Denials::keep(const News& news) {
  if (slots_ == 0) return;
  const auto& [question, heard_at, forgotten, answer] = news;
  const Span left = std::min(answer.decision.ready_at - answer.decided_at, longest_kept_for);
  auto denial = std::make_unique<Denial>(
      Denial{std::string(question.key), std::string(question.limit), question.cost,
             question.patience, heard_at, question.now + left, answer});
  const auto [shard, first] = place_of(question.key);
  const std::lock_guard lock(shard->mutex);
  if (shard->forgotten != forgotten) return;
  if (shard->slots.empty()) shard->slots.resize(slots_);
  auto& one = shard->slots[first];
  auto& other = shard->slots[first + 1];
  const auto is_its_own = [&](const auto& slot) { return slot && slot->key == denial->key; };
  const auto ends_at = [](const auto& slot) { return slot ? slot->ends_at : SteadyInstant::min(); };
  const bool in_other = is_its_own(other) || (!is_its_own(one) && ends_at(other) < ends_at(one));
  (in_other ? other : one) = std::move(denial);
}

void Denials::forget(std::string_view key) {
  if (slots_ == 0) return;
  const auto [shard, first] = place_of(key);
  const std::lock_guard lock(shard->mutex);
  ++shard->forgotten;
  if (shard->slots.empty()) return;
  for (std::size_t slot = first; slot < first + 2; ++slot) {
    auto& kept = shard->slots[slot];
    if (kept && kept->key == key) kept.reset();
  }
}

}  // namespace weir::redis
