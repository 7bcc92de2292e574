// Members of a shared limit, their registry and the way between them, by virtual time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "redis/share_member.hpp"
#include "redis/share_registry.hpp"
#include "weir/redis/share_bucket.hpp"

namespace weir::redis {

/// What goes wrong, in parts of a thousand messages or events.
struct Troubles {
  std::int64_t lost_requests = 0;
  std::int64_t lost_answers = 0;
  std::chrono::nanoseconds longest_way = std::chrono::milliseconds{1};
  std::int64_t lost_registries = 0;  ///< for each request: its memory is gone
  std::int64_t clocks_set_back = 0;  ///< for each request
  std::int64_t deaths = 0;           ///< for each request: its member
  std::int64_t leavings = 0;
  std::int64_t joinings = 0;
};

class SimulatedShares {
 public:
  struct Member {
    explicit Member(const SharedRateSettings& settings)
        : machine(*ShareMember::configure(settings)), bucket(settings) {}
    ShareMember machine;
    ShareBucket bucket;
    bool alive = true;
    std::chrono::nanoseconds asks_every = std::chrono::seconds{1'000};  ///< a unit, of its bucket
    Cost admitted = 0;
  };

  SimulatedShares(const SharedRateSettings& settings, const Troubles& troubles, std::uint64_t seed)
      : settings_(settings), troubles_(troubles), random_(seed) {}

  std::size_t join(std::chrono::nanoseconds asks_every) {
    settings_.seed = random_() | 1;
    members_.push_back(std::make_unique<Member>(settings_));
    members_.back()->asks_every = asks_every;
    const std::size_t at = members_.size() - 1;
    after({}, [this, at] { beat(at); });
    after(below(asks_every), [this, at] { use(at); });
    return at;
  }
  void kill(std::size_t at) { members_[at]->alive = false; }
  void leave(std::size_t at) {
    if (!members_[at]->alive) return;
    members_[at]->alive = false;
    travel(troubles_.lost_requests, [this, request = members_[at]->machine.leave()] {
      static_cast<void>(ShareRegistry::step(state_, store_now(), request));
    });
  }
  void lose_registry() { state_.reset(); }
  void set_store_clock(Span by) { store_offset_ += by; }
  void cut_off_until(SteadyInstant until) { cut_until_ = until; }

  void run_for(std::chrono::nanoseconds span) {
    const SteadyInstant until = now_ + span;
    while (!events_.empty() && events_.begin()->first <= until) {
      auto event = events_.extract(events_.begin());
      now_ = event.key();
      event.mapped()();
    }
    now_ = until;
  }

  SteadyInstant now() const { return now_; }
  Member& member(std::size_t at) { return *members_[at]; }
  std::size_t size() const { return members_.size(); }
  std::size_t alive() const {
    std::size_t count = 0;
    for (const auto& member : members_) count += member->alive ? 1 : 0;
    return count;
  }
  /// What all that are alive let in now, in millionths of the limit.
  std::int64_t in_force() const {
    std::int64_t sum = 0;
    for (const auto& member : members_) {
      if (member->alive) sum += member->machine.held(now_).share;
    }
    return sum;
  }
  std::int64_t cut_off() const {
    std::int64_t count = 0;
    for (const auto& member : members_) {
      const auto held = member->machine.held(now_);
      if (member->alive && !held.leased && held.share > 0) ++count;
    }
    return count;
  }

  std::function<void()> each_change;  ///< of a share
  std::vector<SteadyInstant> admissions;

 private:
  std::chrono::nanoseconds below(std::chrono::nanoseconds end) {
    return std::chrono::nanoseconds{static_cast<std::int64_t>(
        random_() % static_cast<std::uint64_t>(std::max<std::int64_t>(end.count(), 1)))};
  }
  bool happens(std::int64_t per_mille) {
    return static_cast<std::int64_t>(random_() % 1000) < per_mille;
  }
  void after(std::chrono::nanoseconds wait, std::function<void()> event) {
    events_.emplace(now_ + wait, std::move(event));
  }
  void travel(std::int64_t lost, std::function<void()> event) {
    if (now_ < cut_until_ || happens(lost)) return;
    after(below(troubles_.longest_way), std::move(event));
  }

  Instant store_now() {
    // The store tells whole microseconds.
    const Span steady = std::chrono::floor<Span>(now_.time_since_epoch());
    const Instant now{steady + store_offset_};
    // As the key expires, by the store's clock.
    if (state_ && now > kept_until_) state_.reset();
    return now;
  }

  void beat(std::size_t at) {
    Member& member = *members_[at];
    if (!member.alive) return;
    if (happens(troubles_.deaths)) return kill(at);
    if (happens(troubles_.leavings)) return leave(at);
    if (happens(troubles_.joinings) && alive() < 50) join(member.asks_every);
    ask(at);
    after(member.machine.ask_again_at(now_) - now_, [this, at] { beat(at); });
  }

  void ask(std::size_t at) {
    Member& member = *members_[at];
    const auto request = member.machine.ask(now_, member.bucket.take_asked());
    const std::size_t asked = ++calls_;
    // As SharedRate: no answer within the deadline is a failure.
    after(std::chrono::floor<Span>(settings_.lease) / 5, [this, at, asked, request] {
      if (answered_.erase(asked) == 0 && members_[at]->alive) {
        members_[at]->machine.failed(request.asked);
        put_in_force(*members_[at], now_);
      }
    });
    travel(troubles_.lost_requests, [this, at, asked, request] { serve(at, asked, request); });
  }

  void serve(std::size_t at, std::size_t asked, const ShareRegistry::Request& request) {
    if (happens(troubles_.lost_registries)) lose_registry();
    if (happens(troubles_.clocks_set_back))
      set_store_clock(-std::chrono::floor<Span>(below(std::chrono::minutes{1})));
    const Instant now = store_now();
    const auto answer = ShareRegistry::step(state_, now, request);
    if (!answer) return;
    kept_until_ = now + state_->lease;
    travel(troubles_.lost_answers, [this, at, asked, request, answer = *answer] {
      Member& member = *members_[at];
      if (!member.alive) return;
      answered_.emplace(asked, true);
      if (member.bucket.ended(now_)) put_in_force(member, member.bucket.ends_at());
      const auto next = member.machine.answered(request.asked, answer);
      put_in_force(member, now_);
      if (next == ShareMember::Next::confirm) ask(at);
    });
  }

  void put_in_force(Member& member, SteadyInstant now) {
    const auto held = member.machine.held(now);
    member.bucket.put_in_force({held.share, held.ends_at}, now);
    if (each_change) each_change();
  }

  void use(std::size_t at) {
    Member& member = *members_[at];
    if (!member.alive) return;
    if (member.bucket.ended(now_)) put_in_force(member, member.bucket.ends_at());
    if (member.bucket.try_acquire(1, now_)) {
      ++member.admitted;
      admissions.push_back(now_);
    }
    after(member.asks_every, [this, at] { use(at); });
  }

  SharedRateSettings settings_;
  Troubles troubles_;
  std::mt19937_64 random_;
  SteadyInstant now_{std::chrono::seconds{1'000}};
  Span store_offset_{std::chrono::hours{490'000}};
  std::multimap<SteadyInstant, std::function<void()>> events_;
  std::vector<std::unique_ptr<Member>> members_;
  std::optional<ShareRegistry::State> state_;
  Instant kept_until_{};
  SteadyInstant cut_until_{};
  std::size_t calls_ = 0;
  std::map<std::size_t, bool> answered_;
};

}  // namespace weir::redis
