#include <algorithm>
#include <mutex>
#include <new>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "redis/script_caller.hpp"
#include "redis/share_member.hpp"
#include "redis/stored_key.hpp"
#include "weir/local/alarm.hpp"
#include "weir/local/refuse_settings.hpp"
#include "weir/redis/shares.hpp"

namespace weir::redis {
namespace {

ShareMember::Config configured(SharedRateSettings settings) {
  if (settings.seed == 0) {
    std::random_device device;
    settings.seed = std::uint64_t{device()} << 32 | device();
  }
  const auto config = ShareMember::configure(settings);
  if (!config) refuse_settings("shared rate", config.error());
  ShareBucket::require_possible(settings);
  return *config;
}

}  // namespace

/// What is not a decision: the member's requests, and how their answers change the bucket. Kept
/// alive by the calls that are under way.
class SharedRate::Body final : public Alarm, public std::enable_shared_from_this<Body> {
 public:
  Body(Store& store, const Settings& settings)
      : caller_(store, std::chrono::steady_clock::now),
        settings_(settings),
        key_(stored_key({settings.name, "shares"})),
        member_(configured(settings)),
        bucket_(settings) {}

  void begin() { set(std::chrono::steady_clock::now()); }

  void end() {
    std::unique_lock lock(mutex_);
    ended_ = true;
    const ShareRegistry::Request request = member_.leave();
    lock.unlock();
    clear();
    send(request, [](StoreReply&&) {});
  }

  void end_lease(SteadyInstant now) {
    const std::lock_guard lock(mutex_);
    settle(now);
  }

  Cost burst() const noexcept { return settings_.burst; }
  SteadyInstant asks_at() const {
    const std::lock_guard lock(mutex_);
    return asks_at_;
  }

  Share share() const {
    const std::lock_guard lock(mutex_);
    const auto held = member_.held(std::chrono::steady_clock::now());
    return {.part = static_cast<double>(held.share) / static_cast<double>(whole_share),
            .leased = held.leased,
            .ends_at = held.ends_at,
            .members = member_.members(),
            .answers = answers_,
            .failures = failures_,
            .trouble = trouble_};
  }

  ShareBucket& bucket() noexcept { return bucket_; }

 private:
  std::optional<SteadyInstant> ring() noexcept override {
    std::unique_lock lock(mutex_);
    if (ended_) return {};  // or a request behind the last one would have it join again
    const SteadyInstant now = std::chrono::steady_clock::now();
    const Cost asked = bucket_.take_asked();
    const ShareRegistry::Request request = member_.ask(now, asked);
    const SteadyInstant again_at = member_.ask_again_at(now);
    asks_at_ = again_at;
    lock.unlock();
    send(request, [body = shared_from_this(), number = request.asked](StoreReply&& reply) {
      body->hear(number, std::move(reply));
    });
    lock.lock();
    if (ended_) return {};  // by what a store ran within ask()
    return again_at;
  }

  /// Without memory nothing is sent, as if nobody had answered.
  template <typename Then>
  void send(const ShareRegistry::Request& request, Then then) noexcept try {
    const auto patience = std::min<std::chrono::nanoseconds>(settings_.lease / 5, longest_wait);
    caller_.call({.verb = ScriptVerb::share,
                  .keys = {key_},
                  .arguments = share_arguments(request),
                  .deadline_at = std::chrono::steady_clock::now() + patience},
                 std::move(then));
  } catch (const std::bad_alloc&) {
    return;
  }

  void hear(std::int64_t number, StoreReply&& reply) {
    std::unique_lock lock(mutex_);
    if (ended_) return;
    const SteadyInstant now = std::chrono::steady_clock::now();
    settle(now);
    const bool answered = reply.outcome == CallOutcome::answered;
    const auto answer =
        answered ? read_share_answer(reply.integers) : std::optional<ShareRegistry::Answer>{};
    auto next = ShareMember::Next::wait;
    if (answer) {
      next = member_.answered(number, *answer);
      ++answers_;
      trouble_.clear();
    } else {
      member_.failed(number);
      ++failures_;
      trouble_ = std::move(reply.text);
      if (trouble_.empty()) trouble_ = answered ? "no registry's answer" : name(reply.outcome);
    }
    put_in_force(now);
    lock.unlock();
    if (next == ShareMember::Next::confirm) hurry();
  }

  /// A lease that has ended did so at its own instant, however late that is seen.
  void settle(SteadyInstant now) {
    if (bucket_.ended(now)) put_in_force(bucket_.ends_at());
  }

  void put_in_force(SteadyInstant now) {
    const ShareMember::Held held = member_.held(now);
    bucket_.put_in_force({held.share, held.ends_at}, now);
  }

  static constexpr std::chrono::seconds longest_wait{1};

  ScriptCaller caller_;
  const Settings settings_;
  const std::string key_;
  mutable std::mutex mutex_;
  ShareMember member_;
  ShareBucket bucket_;
  SteadyInstant asks_at_{};
  std::uint64_t answers_ = 0;
  std::uint64_t failures_ = 0;
  std::string trouble_;
  bool ended_ = false;
};

SharedRate::SharedRate(Store& store, const Settings& settings)
    : body_(std::make_shared<Body>(store, settings)), bucket_(&body_->bucket()) {
  body_->begin();
}

SharedRate::~SharedRate() { body_->end(); }

void SharedRate::end_lease(SteadyInstant now) { body_->end_lease(now); }

Outcome SharedRate::too_much(Cost cost, SteadyInstant now) const {
  if (cost < 0 || cost > body_->burst()) {
    return {Verdict::impossible, Refusal::limit, SteadyInstant::max()};
  }
  return {Verdict::denied, Refusal::limit, std::max(now, body_->asks_at())};
}

SharedRate::Share SharedRate::share() const { return body_->share(); }

}  // namespace weir::redis
