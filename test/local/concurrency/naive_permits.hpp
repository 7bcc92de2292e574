// What a concurrency limit, leased or in partitions, has to answer, written down without any care
// for time or memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "weir/local/waiting_room.hpp"

namespace weir {

class NaivePermits {
 public:
  struct Rules {
    std::int64_t limit = 1;
    std::size_t queue = 0;  ///< of each partition
    QueueOrder order = QueueOrder::first_come;
    std::vector<std::int64_t> tenths{10, 10, 10, 10};  ///< ceilings by priority
    std::vector<std::int64_t> guaranteed_tenths{0};    ///< by partition
    std::int64_t lease_for = 0;                        ///< 0: for ever
  };
  struct Asker {
    int id = 0;
    std::int64_t weight = 1;
    std::size_t priority = 0;
    std::size_t partition = 0;
  };
  enum class Answer : std::uint8_t { let_in, waits, refused, turned_away, impossible };
  using Moved = std::vector<std::pair<int, Answer>>;

  explicit NaivePermits(Rules rules) : rules_(std::move(rules)) {}

  Answer try_enter(const Asker& asker) {
    if (!possible(asker)) return Answer::impossible;
    if (!may_pass(asker) || !fits(asker)) return Answer::refused;
    held_.push_back({asker, end()});
    return Answer::let_in;
  }

  Answer enter_or_join(const Asker& asker) {
    const Answer answer = try_enter(asker);
    if (answer != Answer::refused) return answer;
    // Where it would be served last it stands behind the others of its priority, or before them.
    auto& line = line_of(asker.partition);
    auto at = line.begin();
    while (at != line.end() &&
           (at->priority < asker.priority ||
            (at->priority == asker.priority && rules_.order == QueueOrder::first_come))) {
      ++at;
    }
    line.insert(at, asker);
    if (line.size() > rules_.queue) {
      const Asker away = line.back();
      line.pop_back();
      if (away.id == asker.id) return Answer::turned_away;
      moved_.push_back({away.id, Answer::turned_away});
    }
    serve();
    for (const auto& [id, became] : moved_) {
      if (id == asker.id) return became;
    }
    return Answer::waits;
  }

  /// False where it holds nothing.
  bool leave(int id) {
    const auto held = std::find_if(held_.begin(), held_.end(),
                                   [id](const Held& one) { return one.asker.id == id; });
    const bool holds = held != held_.end();
    if (holds) held_.erase(held);
    serve();
    return holds;
  }

  bool renew(int id) {
    for (Held& held : held_) {
      if (held.asker.id != id) continue;
      held.ends_at = end();
      return true;
    }
    return false;
  }

  /// False where it does not wait.
  bool give_up(int id) {
    for (auto& line : lines_) {
      const auto at = std::find_if(line.begin(), line.end(),
                                   [id](const Asker& asker) { return asker.id == id; });
      if (at == line.end()) continue;
      line.erase(at);
      serve();
      return true;
    }
    return false;
  }

  void set_limit(std::int64_t limit) {
    rules_.limit = limit;
    for (std::size_t at = 0; at < lines_.size(); ++at) drop_impossible(at);
    serve();
  }

  void advance(std::int64_t now) {
    now_ = now;
    if (rules_.lease_for == 0) return;
    const std::size_t before = held_.size();
    std::erase_if(held_, [now](const Held& held) { return held.ends_at <= now; });
    if (held_.size() != before) serve();
  }

  std::int64_t in_flight() const {
    std::int64_t sum = 0;
    for (const Held& held : held_) sum += held.asker.weight;
    return sum;
  }
  std::int64_t in_flight(std::size_t partition) const {
    std::int64_t sum = 0;
    for (const Held& held : held_) sum += held.asker.partition == partition ? held.asker.weight : 0;
    return sum;
  }
  std::size_t waiting(std::size_t partition) const { return lines_[partition].size(); }
  std::int64_t limit() const { return rules_.limit; }
  std::int64_t ceiling(std::size_t priority) const {
    return (rules_.limit * rules_.tenths[priority] + 9) / 10;
  }
  std::int64_t guaranteed(std::size_t partition) const {
    return rules_.limit * rules_.guaranteed_tenths[partition] / 10;
  }

  /// Who waits no more, by what others did, in the order of it; forgotten afterwards.
  Moved take_moved() { return std::exchange(moved_, {}); }

 private:
  struct Held {
    Asker asker;
    std::int64_t ends_at;
  };

  std::int64_t end() const { return now_ + rules_.lease_for; }
  std::vector<Asker>& line_of(std::size_t partition) { return lines_[partition]; }
  bool has_partitions() const { return rules_.guaranteed_tenths.size() > 1; }

  bool possible(const Asker& asker) const {
    std::int64_t most = ceiling(asker.priority);
    for (std::size_t other = 0; other < lines_.size(); ++other) {
      if (other != asker.partition) most -= guaranteed(other);
    }
    return asker.weight >= 1 && asker.weight <= most;
  }

  bool within_guarantee(const Asker& asker) const {
    return in_flight(asker.partition) + asker.weight <= guaranteed(asker.partition);
  }

  bool fits(const Asker& asker) const {
    if (in_flight() + asker.weight > ceiling(asker.priority)) return false;
    if (within_guarantee(asker)) return true;
    std::int64_t taken = in_flight(asker.partition) + asker.weight;
    for (std::size_t other = 0; other < lines_.size(); ++other) {
      if (other != asker.partition) taken += std::max(in_flight(other), guaranteed(other));
    }
    return taken <= rules_.limit;
  }

  bool may_pass(const Asker& asker) const {
    for (const Asker& waits : lines_[asker.partition]) {
      if (waits.priority < asker.priority) return false;
      if (waits.priority == asker.priority && rules_.order == QueueOrder::first_come) return false;
    }
    if (!has_partitions() || within_guarantee(asker)) return true;
    for (const auto& line : lines_) {
      if (!line.empty()) return false;
    }
    return true;
  }

  void let_in_first(std::size_t partition) {
    auto& line = lines_[partition];
    held_.push_back({line.front(), end()});
    moved_.push_back({line.front().id, Answer::let_in});
    line.erase(line.begin());
  }

  void serve() {
    for (std::size_t at = 0; has_partitions() && at < lines_.size(); ++at) {
      while (!lines_[at].empty() && within_guarantee(lines_[at].front()) &&
             fits(lines_[at].front())) {
        let_in_first(at);
      }
    }
    for (;;) {
      std::size_t skipped = 0;
      while (skipped < lines_.size() && lines_[turn_].empty()) {
        turn_ = (turn_ + 1) % lines_.size();
        ++skipped;
      }
      if (lines_[turn_].empty() || !fits(lines_[turn_].front())) return;
      let_in_first(turn_);
      turn_ = (turn_ + 1) % lines_.size();
    }
  }

  void drop_impossible(std::size_t partition) {
    auto& line = lines_[partition];
    for (std::size_t at = 0; at < line.size();) {
      if (!possible(line[at])) {
        moved_.push_back({line[at].id, Answer::impossible});
        line.erase(line.begin() + static_cast<std::ptrdiff_t>(at));
      } else {
        ++at;
      }
    }
  }

  Rules rules_;
  std::int64_t now_ = 0;
  std::vector<Held> held_;
  std::vector<std::vector<Asker>> lines_ =
      std::vector<std::vector<Asker>>(rules_.guaranteed_tenths.size());
  std::size_t turn_ = 0;
  Moved moved_;
};

}  // namespace weir
