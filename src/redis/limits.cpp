#include "weir/redis/limits.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#include "redis/limit_config.hpp"
#include "redis/remote_table.hpp"
#include "redis/telling.hpp"
#include "weir/local/alarm.hpp"
#include "weir/local/sleeper.hpp"

namespace weir::redis {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

const Limit& storable(const Limit& limit) {
  const auto config = config_text(limit);
  if (config) return limit;
  throw std::invalid_argument("limit: " + limit.text() + " " + describe(config.error()));
}

Span patience_of(nanoseconds patience) {
  return std::chrono::floor<Span>(
      std::clamp<nanoseconds>(patience, nanoseconds{0}, SharedLimit::longest_wait));
}

/// False where it was stopped before.
bool sleep_until(SteadyInstant instant, WakeSignal& signal) {
  for (auto now = steady_clock::now(); now < instant; now = steady_clock::now()) {
    if (signal.stopped()) return false;
    signal.sleep(instant - now);
  }
  return true;
}

}  // namespace

namespace {

/// Gives back what is leased and idle, also where nobody asks any more.
class IdleLeases final : public Alarm, public std::enable_shared_from_this<IdleLeases> {
 public:
  IdleLeases(std::shared_ptr<RemoteTable> table, nanoseconds kept_for)
      : table_(std::move(table)), every_(std::max<nanoseconds>(kept_for, shortest)) {}

  void begin() { set(steady_clock::now() + every_); }
  void end() noexcept {
    ended_ = true;
    clear();
  }

 private:
  std::optional<SteadyInstant> ring() noexcept override {
    const auto self = shared_from_this();  // who is called back by the store may end this
    try {
      table_->tick();
    } catch (const std::bad_alloc&) {
      // What could not go back stays charged, until the limit has repaid it.
    }
    if (ended_) return {};
    return steady_clock::now() + every_;
  }

  static constexpr std::chrono::milliseconds shortest{10};

  std::shared_ptr<RemoteTable> table_;
  nanoseconds every_;
  std::atomic<bool> ended_{false};
};

}  // namespace

class Limits::Body {
 public:
  Body(Store& store, const Policy& policy) : table_(std::make_shared<RemoteTable>(store, policy)) {
    if (!policy.lease) return;
    idle_leases_ = std::make_shared<IdleLeases>(table_, policy.lease->kept_for);
    idle_leases_->begin();
  }
  ~Body() {
    if (idle_leases_) idle_leases_->end();
  }
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  /// Limits of equal texts have the same states, so they are one rule. None is ever dropped: the
  /// table may know it.
  const Rule& rule_of(const Limit& limit) {
    const std::lock_guard lock(mutex_);
    const auto id = static_cast<std::uint32_t>(rules_.size());
    return rules_.try_emplace(limit.text(), Rule{id, limit.text(), limit, false}).first->second;
  }

  RemoteTable& table() noexcept { return *table_; }

 private:
  std::mutex mutex_;
  std::map<std::string, Rule> rules_;
  std::shared_ptr<RemoteTable> table_;
  std::shared_ptr<IdleLeases> idle_leases_;
};

Limits::Limits(Store& store, const Policy& policy) : body_(std::make_unique<Body>(store, policy)) {}
Limits::~Limits() = default;

struct SharedLimit::Kept {
  std::shared_ptr<Limits> limits;
  const Rule& rule;
  std::optional<std::size_t> permit_term;

  RemoteTable& table() const noexcept { return limits->body_->table(); }
  Subject subject(std::string_view key) const noexcept { return {&rule, key}; }

  Outcome outcome(RemoteAnswer&& answer) const {
    std::optional<Grant> grant;
    if (!answer.grants.empty()) grant = answer.grants.front();
    Outcome outcome = outcome_of(std::move(answer));
    outcome.grant = grant;
    if (grant && permit_term) {
      outcome.permit = Concurrency::permit_of(grant->marks.at(*permit_term));
    }
    return outcome;
  }
};

SharedLimit::SharedLimit(std::shared_ptr<Limits> limits, const Limit& limit) {
  const Rule& rule = limits->body_->rule_of(storable(limit));
  kept_ = std::make_shared<const Kept>(Kept{std::move(limits), rule, limit.permit_term()});
}

namespace {

/// Tells the answer; what it is about is kept until then.
template <typename Kept>
RemoteTable::Then answered(std::shared_ptr<const Kept> kept, SharedLimit::Then then) {
  return [kept = std::move(kept), then = std::move(then)](RemoteAnswer&& answer) {
    tell(then, kept->outcome(std::move(answer)));
  };
}

template <typename Kept>
RemoteTable::Given given(std::shared_ptr<const Kept> kept, SharedLimit::ThenGiven then) {
  return [kept = std::move(kept), then = std::move(then)](RemoteGift&& gift) {
    tell(then, Gift{gift.given, std::move(gift.trouble)});
  };
}

}  // namespace

// ---- Asking ----

void SharedLimit::take(std::string_view key, const Ask& ask, Then then) const {
  if (ask.cost < 0) return tell(then, never_taken());
  kept_->table().take(kept_->subject(key), {ask.cost, patience_of(ask.patience)},
                      answered(kept_, std::move(then)));
}

Outcome SharedLimit::take(std::string_view key, const Ask& ask) const {
  return answer_of<Outcome>([&](auto then) { take(key, ask, std::move(then)); });
}

void SharedLimit::peek(std::string_view key, const Ask& ask, Then then) const {
  if (ask.cost < 0) return tell(then, never_taken());
  kept_->table().peek(kept_->subject(key), {ask.cost, patience_of(ask.patience)},
                      answered(kept_, std::move(then)));
}

Outcome SharedLimit::peek(std::string_view key, const Ask& ask) const {
  return answer_of<Outcome>([&](auto then) { peek(key, ask, std::move(then)); });
}

Outcome SharedLimit::acquire(std::string_view key, const Ask& ask,
                             const std::stop_token& stop) const {
  const SteadyInstant begun_at = steady_clock::now();
  const SteadyInstant give_up_at = ask.patience < SteadyInstant::max() - begun_at
                                       ? begun_at + ask.patience
                                       : SteadyInstant::max();
  WakeSignal signal;
  const std::stop_callback on_stop(stop, [&signal]() noexcept { signal.stop(); });
  Outcome outcome;
  outcome.ready_at = begun_at;
  for (SteadyInstant now = begun_at; !signal.stopped(); now = steady_clock::now()) {
    outcome = take(key, {ask.cost, give_up_at - now});
    SteadyInstant sleeps_until = outcome.ready_at;
    if (outcome.verdict == Verdict::denied) {
      const bool decided = outcome.source != Source::closed;
      if (!decided || outcome.ready_at > give_up_at) return outcome;
      // Further off than the store lets anyone wait: asked again when it is nearer.
      sleeps_until = std::max(outcome.ready_at - longest_wait, now + std::chrono::milliseconds{1});
    } else if (outcome.verdict != Verdict::deferred) {
      return outcome;
    }
    if (!sleep_until(sleeps_until, signal)) break;
    if (outcome.verdict == Verdict::deferred) {
      outcome.verdict = Verdict::granted;
      return outcome;
    }
  }
  if (outcome) static_cast<void>(cancel(key, outcome));
  outcome.verdict = Verdict::denied;
  outcome.refusal = Refusal::stopped;
  return outcome;
}

// ---- Giving back ----

void SharedLimit::cancel(std::string_view key, const Outcome& taken, ThenGiven then) const {
  if (!taken.grant) return tell(then, Gift{.given = 0});
  kept_->table().cancel(kept_->subject(key), *taken.grant, given(kept_, std::move(then)));
}

Gift SharedLimit::cancel(std::string_view key, const Outcome& taken) const {
  return answer_of<Gift>([&](auto then) { cancel(key, taken, std::move(then)); });
}

void SharedLimit::refund(std::string_view key, Cost units, ThenGiven then) const {
  if (units <= 0) return tell(then, Gift{.given = 0});
  kept_->table().refund(kept_->subject(key), units, given(kept_, std::move(then)));
}

Gift SharedLimit::refund(std::string_view key, Cost units) const {
  return answer_of<Gift>([&](auto then) { refund(key, units, std::move(then)); });
}

void SharedLimit::reset(std::string_view key, ThenGiven then) const {
  kept_->table().reset(kept_->subject(key), given(kept_, std::move(then)));
}

Gift SharedLimit::reset(std::string_view key) const {
  return answer_of<Gift>([&](auto then) { reset(key, std::move(then)); });
}

void SharedLimit::leave(std::string_view key, PermitId permit, ThenGiven then) const {
  kept_->table().leave(kept_->subject(key), permit, given(kept_, std::move(then)));
}

Gift SharedLimit::leave(std::string_view key, PermitId permit) const {
  return answer_of<Gift>([&](auto then) { leave(key, permit, std::move(then)); });
}

void SharedLimit::renew(std::string_view key, PermitId permit, ThenGiven then) const {
  kept_->table().renew(kept_->subject(key), permit, given(kept_, std::move(then)));
}

Gift SharedLimit::renew(std::string_view key, PermitId permit) const {
  return answer_of<Gift>([&](auto then) { renew(key, permit, std::move(then)); });
}

// ---- Several at once ----

void SharedLimit::take_all(std::span<const Claim> claims, ThenAll then) {
  if (claims.empty() || claims.size() > Table::most_claims) {
    throw std::invalid_argument("try_acquire_all: expected 1 to 16 claims");
  }
  std::vector<std::shared_ptr<const Kept>> kept;
  std::vector<weir::Claim> asked;
  for (const Claim& claim : claims) {
    if (claim.limit->kept_->limits != claims.front().limit->kept_->limits) {
      throw std::invalid_argument("try_acquire_all: expected limiters of one Limits");
    }
    if (claim.cost < 0) return tell(then, Joint{.outcome = never_taken(), .binding = kept.size()});
    kept.push_back(claim.limit->kept_);
    asked.push_back({kept.back()->subject(claim.key), claim.cost});
  }
  RemoteTable& table = kept.front()->table();
  table.take_all(asked, {.patience = Span{0}},
                 [kept = std::move(kept), then = std::move(then)](RemoteAnswer&& answer) {
                   Joint joint{{}, answer.binding, answer.atomic};
                   joint.outcome = outcome_of(std::move(answer));
                   tell(then, std::move(joint));
                 });
}

Joint SharedLimit::take_all(std::span<const Claim> claims) {
  return answer_of<Joint>([&](auto then) { take_all(claims, std::move(then)); });
}

}  // namespace weir::redis
