#include "redis/cluster.hpp"

#include <stdexcept>
#include <utility>

#include "redis/backoff.hpp"
#include "weir/overload/chance.hpp"

namespace weir::redis {

Cluster::Cluster(const Settings& settings) : settings_(settings), random_(settings.seed) {
  const std::chrono::nanoseconds none{0};
  if (settings.refresh_every <= none || settings.refresh_every > std::chrono::hours{24}) {
    throw std::invalid_argument("cluster: expected 0 < refresh_every <= a day");
  }
}

std::optional<Cluster::Stop> Cluster::follow(Journey& journey, const Redirect& redirect,
                                             const Node& asked) {
  Stop stop{redirect.node, redirect.kind == ErrorKind::ask};
  if (stop.node.host.empty()) stop.node.host = asked.host;
  if (!stop.asking) {
    doubtful_ = true;
    // With no room for the node the call still finds it, by this redirect.
    static_cast<void>(slots_.move(redirect.slot, stop.node));
  }
  if (journey.redirects >= settings_.most_redirects) return {};
  ++journey.redirects;
  return stop;
}

bool Cluster::refresh(SteadyInstant now) noexcept {
  if (!doubtful_ || now < next_refresh_at_) return false;
  const auto most = static_cast<std::uint64_t>(settings_.refresh_every.count() / 2) + 1;
  next_refresh_at_ =
      now + settings_.refresh_every + std::chrono::nanoseconds{next_random(random_) % most};
  return true;
}

void Cluster::learn(SlotMap slots) {
  slots_ = std::move(slots);
  // A map with holes was drawn during a failover, say: the next may be better.
  doubtful_ = slots_.owned() < slot_count;
}

}  // namespace weir::redis
