// A member of a shared limit: what it asks the registry, and what it holds. No sockets, no clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "redis/share_registry.hpp"
#include "weir/overload/call.hpp"
#include "weir/redis/share_settings.hpp"
#include "weir/steady_instant.hpp"

namespace weir::redis {

/// Keeps a share from the answers of a ShareRegistry. Of its requests only the last one's answer
/// counts; its lease is counted from the instant at which that request was made, and ends a five
/// hundredth early, for clocks that go at different rates.
///
/// Wants are what was asked of it, granted or not, in the last span between requests, and at least
/// one unit in a span: so it always gets what lets one in now and then, and notices when more come.
///
/// Threads  one at a time
/// Requires instants that do not go back
class ShareMember {
 public:
  struct Config {
    Division division = Division::fair;
    Span lease{0};
    std::chrono::nanoseconds refresh{};  ///< between two requests, at most
    Cost count = 1;
    std::chrono::nanoseconds period{};
    WithoutRegistry without = WithoutRegistry::closed;
    std::int64_t members = 1;
    std::int64_t number = 0;   ///< the member's own
    std::uint64_t random = 0;  ///< of its pauses
  };
  /// The number and the pauses are drawn from the seed.
  static Expected<Config, SettingsError> configure(const SharedRateSettings& settings);

  explicit ShareMember(const Config& config) : config_(config), random_(config.random) {}

  /// The next request. `units` were asked of this member since the one before.
  ShareRegistry::Request ask(SteadyInstant now, Cost units);
  /// When to make the one after it: some members earlier, some later, or they would come at once.
  SteadyInstant ask_again_at(SteadyInstant now);

  /// What there is to do after an answer.
  enum class Next : std::uint8_t {
    wait,
    confirm,  ///< ask again at once: others wait for what this member does not hold any more
  };
  /// The registry's answer to request `asked`; nothing where that is not the last one.
  Next answered(std::int64_t asked, const ShareRegistry::Answer& answer);
  /// Request `asked` had no answer.
  void failed(std::int64_t asked);

  /// The request that frees the share; nothing is held from then on.
  ShareRegistry::Request leave();

  struct Held {
    std::int64_t share = 0;
    bool leased = false;
    SteadyInstant ends_at = SteadyInstant::max();  ///< of the lease
    bool operator==(const Held&) const = default;
  };
  Held held(SteadyInstant now) const;

  std::int64_t members() const noexcept { return members_; }

 private:
  std::int64_t measured(SteadyInstant now, Cost units);
  std::int64_t parts_of(Cost units, std::chrono::nanoseconds span) const;

  Config config_;
  std::uint64_t random_;
  std::int64_t asked_ = 0;
  SteadyInstant asked_at_{};
  std::int64_t held_when_asked_ = 0;
  std::int64_t share_ = 0;
  SteadyInstant ends_at_ = SteadyInstant::min();
  std::int64_t members_ = 0;
  bool alone_ = false;  ///< the registry was asked, and leased nothing
  std::optional<SteadyInstant> measured_at_{};
  Cost units_ = 0;  ///< asked for since then
  std::int64_t wanted_ = 0;
};

}  // namespace weir::redis
