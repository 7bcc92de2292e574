// Finding the way in a cluster: what a redirect means for one call and for the map of slots.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "redis/error_reply.hpp"
#include "redis/slots.hpp"
#include "weir/steady_instant.hpp"

namespace weir::redis {

/// Knows which node to ask, and when to ask for a new map.
///
/// Bound    a map is asked for once in refresh_every, or in that and half of it again, by chance;
///          a call follows most_redirects at most
/// Threads  one at a time
class Cluster {
 public:
  struct Settings {
    std::chrono::nanoseconds refresh_every = std::chrono::seconds{1};  ///< > 0, at most a day
    std::uint8_t most_redirects = 3;                                   ///< of one call
    std::uint64_t seed = 0;                                            ///< another for each client
  };

  /// What one call has been through. Zero at its start.
  struct Journey {
    std::uint8_t redirects = 0;
  };

  /// Whom to ask next.
  struct Stop {
    Node node{};
    bool asking = false;  ///< ASKING goes before the command: this once, that node answers
  };

  /// Throws std::invalid_argument where refresh_every is not as required.
  explicit Cluster(const Settings& settings);

  const SlotMap& slots() const noexcept { return slots_; }

  /// The call was sent elsewhere by `asked`. MOVED corrects the map at once and wants a new one;
  /// ASK changes nothing. Nothing where the call has been sent about often enough.
  std::optional<Stop> follow(Journey& journey, const Redirect& redirect, const Node& asked);

  /// The map is in doubt: a node is gone, a slot is nobody's.
  void doubt() noexcept { doubtful_ = true; }

  /// Whether to ask for a map now. Once true, it is taken for asked, and false until the next
  /// refresh is due.
  bool refresh(SteadyInstant now) noexcept;

  /// From when on refresh() may be true; nothing while the map is not in doubt.
  std::optional<SteadyInstant> refresh_at() const noexcept {
    if (!doubtful_) return {};
    return next_refresh_at_;
  }

  /// A map has come.
  void learn(SlotMap slots);

 private:
  Settings settings_;
  SlotMap slots_;
  bool doubtful_ = true;
  SteadyInstant next_refresh_at_ = SteadyInstant::min();
  std::uint64_t random_;
};

}  // namespace weir::redis
