#include "redis/share_member.hpp"

#include <algorithm>

#include "weir/algorithm/interval.hpp"
#include "weir/overload/chance.hpp"

namespace weir::redis {
namespace {

constexpr std::int64_t requests_in_lease = 5;
/// Two clocks that are slewed as fast as may be stay within this part of each other.
constexpr std::int64_t drift_part = 500;
/// As high as the store can tell them apart.
constexpr std::uint64_t member_bits = 52;

}  // namespace

Expected<ShareMember::Config, SettingsError> ShareMember::configure(
    const SharedRateSettings& settings) {
  using namespace std::chrono_literals;
  if (settings.name.empty() || settings.name.size() > 512) {
    return SettingsError{"name", "1 to 512 bytes"};
  }
  if (settings.count <= 0) return SettingsError{"count", "at least 1"};
  if (settings.period <= 0ns) return SettingsError{"period", "above 0"};
  if (settings.burst <= 0) return SettingsError{"burst", "at least 1"};
  if (settings.lease < 100ms || settings.lease > ShareRegistry::longest_lease) {
    return SettingsError{"lease", "100 ms to a day"};
  }
  if (settings.members == 0) return SettingsError{"members", "at least 1"};
  std::uint64_t random = settings.seed;
  const std::uint64_t number = next_random(random) >> (64 - member_bits);
  return Config{.division = settings.division,
                .lease = std::chrono::floor<Span>(settings.lease),
                .refresh = settings.lease / requests_in_lease,
                .count = settings.count,
                .period = settings.period,
                .without = settings.without,
                .members = settings.members,
                .number = static_cast<std::int64_t>(number),
                .random = random};
}

ShareRegistry::Request ShareMember::ask(SteadyInstant now, Cost units) {
  ++asked_;
  asked_at_ = now;
  held_when_asked_ = held(now).share;
  return {.division = config_.division,
          .lease = config_.lease,
          .member = config_.number,
          .asked = asked_,
          .wants = measured(now, units),
          .holds = held_when_asked_};
}

SteadyInstant ShareMember::ask_again_at(SteadyInstant now) {
  const auto earlier = static_cast<std::int64_t>(
      next_random(random_) % static_cast<std::uint64_t>(config_.refresh.count() / 5));
  return now + config_.refresh - std::chrono::nanoseconds{earlier};
}

ShareMember::Next ShareMember::answered(std::int64_t asked, const ShareRegistry::Answer& answer) {
  if (asked != asked_) return Next::wait;
  members_ = answer.members;
  alone_ = answer.share == 0 && answer.learns_for > Span{0};
  share_ = answer.share;
  ends_at_ = asked_at_ + config_.lease - config_.lease / drift_part;
  if (alone_) {
    ends_at_ = SteadyInstant::min();
    return Next::wait;
  }
  return share_ < held_when_asked_ ? Next::confirm : Next::wait;
}

void ShareMember::failed(std::int64_t asked) {
  if (asked == asked_) alone_ = true;
}

ShareRegistry::Request ShareMember::leave() {
  ++asked_;
  share_ = 0;
  ends_at_ = SteadyInstant::max();
  return {.division = config_.division, .member = config_.number, .asked = asked_};
}

ShareMember::Held ShareMember::held(SteadyInstant now) const {
  if (now < ends_at_) return {share_, true, ends_at_};
  const bool was_leased = ends_at_ != SteadyInstant::min();
  if (config_.without == WithoutRegistry::closed || !(alone_ || was_leased)) return {};
  return {whole_share / std::max(config_.members, members_), false};
}

/// Spans shorter than half of the usual one are added to the next.
std::int64_t ShareMember::measured(SteadyInstant now, Cost units) {
  units_ += units;
  if (!measured_at_) measured_at_ = now;
  const std::chrono::nanoseconds span = now - *measured_at_;
  if (span >= config_.refresh / 2) {
    wanted_ = parts_of(units_, span);
    units_ = 0;
    measured_at_ = now;
  }
  return std::max(wanted_, parts_of(1, config_.refresh));
}

/// What of the limit lets so many units in within the span: rounded up, at most all of it.
std::int64_t ShareMember::parts_of(Cost units, std::chrono::nanoseconds span) const {
  const Wide all = Wide{config_.count} * span.count();
  const Wide asked = Wide{std::min(units, Cost{1} << 40)} * config_.period.count();
  if (asked >= all) return whole_share;
  return static_cast<std::int64_t>((asked * whole_share + all - 1) / all);
}

}  // namespace weir::redis
