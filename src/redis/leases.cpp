#include "redis/leases.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace weir::redis {

Leases::Shard& Leases::shard_of(std::string_view key) {
  return shards_[keyed_hash(hash_key_, key) % shards_.size()];
}

void Leases::hand_out(Entry& entry, const Question& question, Plan& plan) {
  entry.units -= question.cost;
  entry.used += question.cost;
  plan.step = Step::handed_out;
  plan.decision = entry.decision;
  plan.decided_at = entry.decided_at + std::chrono::ceil<Span>(question.now - entry.asked_at);
  plan.decision.ready_at = plan.decided_at;
  plan.decision.remaining = std::min(plan.decision.limit, entry.room + entry.units);
  plan.decision.reset_at = std::max(plan.decision.reset_at, plan.decided_at);
}

Leases::Plan Leases::plan(const Question& question, const std::function<Waiting()>& waiting) {
  Shard& shard = shard_of(question.key);
  const std::lock_guard lock(shard.mutex);
  Plan plan{.step = Step::asks, .units = question.cost};
  if (shard.closed) return plan;
  auto found = shard.entries.find(question.key);
  if (found == shard.entries.end()) {
    if (shard.entries.size() >= settings_.keys / shards_.size() + 1) return plan;
    found = shard.entries.emplace(question.key, Entry{}).first;
    found->second.limit = question.limit;
    found->second.until = question.now + settings_.kept_for;
    shard.due.push_back({found->second.until, found->first});
    return plan;
  }
  Entry& entry = found->second;
  if (entry.limit != question.limit) return plan;  // new numbers under an old name
  const bool holds = question.now < entry.until;
  if (holds && entry.units >= question.cost) {
    hand_out(entry, question, plan);
    return plan;
  }
  if (entry.asking) {
    // Who asked later may be answered later than this one can wait.
    if (entry.asker_asked_at > question.asked_at) return plan;
    if (entry.waiting.size() == most_waiting) return plan;
    entry.waiting.push_back(waiting());
    plan.step = Step::waits;
    return plan;
  }
  if (!holds) return plan;  // what it has left goes back first
  entry.size = std::min(entry.size * 2, settings_.most_units);
  const Cost most = std::min({entry.size - entry.units, question.capacity, entry.room / 2});
  plan.units = std::max(question.cost, most);
  entry.asking = plan.units > question.cost;
  entry.asker_asked_at = question.asked_at;
  return plan;
}

Leases::Heard Leases::heard(const News& news) {
  const Question& asked = news.asked;
  const bool batch = news.units > asked.cost;
  Shard& shard = shard_of(asked.key);
  const std::lock_guard lock(shard.mutex);
  Heard heard;
  const auto found = shard.entries.find(asked.key);
  const bool known = found != shard.entries.end() && found->second.limit == asked.limit;
  if (known && batch) {
    found->second.asking = false;
    heard.waiting = std::exchange(found->second.waiting, {});
  }
  if (!known || shard.closed) {
    if (news.ended == Ended::granted) heard.give_back = news.units - asked.cost;
    return heard;
  }
  Entry& entry = found->second;
  if (news.ended != Ended::granted) {
    entry.size = 1;
    entry.room = 0;
    return heard;
  }
  entry.units += news.units - asked.cost;
  entry.used = asked.cost + (batch ? 0 : entry.used);
  entry.room = news.decision.remaining;
  entry.until = std::max(entry.until, asked.now + settings_.kept_for);
  entry.asked_at = asked.now;
  entry.decision = news.decision;
  entry.decided_at = news.decided_at;
  return heard;
}

void Leases::end(Shard& shard, SteadyInstant now, std::size_t most,
                 std::vector<Leftover>& leftovers) {
  const std::lock_guard lock(shard.mutex);
  for (; most > 0 && !shard.due.empty() && shard.due.front().at <= now; --most) {
    Due due = std::move(shard.due.front());
    shard.due.pop_front();
    const auto found = shard.entries.find(due.key);
    if (found == shard.entries.end()) continue;
    Entry& entry = found->second;
    if (entry.until > now || entry.asking) {
      due.at = std::max(entry.until, now + settings_.kept_for / 2);
      shard.due.push_back(std::move(due));
      continue;
    }
    if (entry.units > 0) leftovers.push_back({due.key, entry.limit, entry.units});
    const Cost used = std::exchange(entry.used, 0);
    entry.units = 0;
    entry.size = std::clamp<Cost>(used, 1, entry.size);
    if (used == 0) {
      shard.entries.erase(found);
      continue;
    }
    due.at = now + settings_.kept_for;
    shard.due.push_back(std::move(due));
  }
}

std::vector<Leases::Leftover> Leases::expired(std::string_view key, SteadyInstant now) {
  std::vector<Leftover> leftovers;
  end(shard_of(key), now, 4, leftovers);
  return leftovers;
}

std::vector<Leases::Leftover> Leases::expired(SteadyInstant now) {
  std::vector<Leftover> leftovers;
  for (Shard& shard : shards_) {
    end(shard, now, std::numeric_limits<std::size_t>::max(), leftovers);
  }
  return leftovers;
}

std::vector<Leases::Leftover> Leases::close() {
  std::vector<Leftover> leftovers;
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    shard.closed = true;
    shard.due.clear();
    for (auto& [key, entry] : shard.entries) {
      const Cost units = std::exchange(entry.units, 0);
      if (units > 0) leftovers.push_back({key, entry.limit, units});
    }
  }
  return leftovers;
}

void Leases::forget(std::string_view key) {
  Shard& shard = shard_of(key);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.entries.find(key);
  if (found == shard.entries.end()) return;
  found->second.units = 0;
}

Cost Leases::held() const {
  Cost held = 0;
  for (const Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    for (const auto& [key, entry] : shard.entries) held += entry.units;
  }
  return held;
}

}  // namespace weir::redis
