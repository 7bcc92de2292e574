#include "redis/backoff.hpp"

#include <algorithm>
#include <stdexcept>

#include "weir/overload/chance.hpp"

namespace weir::redis {

Backoff::Backoff(const Settings& settings)
    : first_for_(settings.first_for),
      longest_for_(settings.longest_for),
      plain_for_(settings.first_for),
      random_(settings.seed) {
  const std::chrono::nanoseconds none{0};
  if (first_for_ <= none || first_for_ > longest_for_ || longest_for_ > std::chrono::hours{24}) {
    throw std::invalid_argument("backoff: expected 0 < first_for <= longest_for <= a day");
  }
}

std::chrono::nanoseconds Backoff::next() noexcept {
  const std::chrono::nanoseconds plain = plain_for_;
  plain_for_ = std::min(plain * 2, longest_for_);
  const auto most = static_cast<std::uint64_t>(plain.count() / 2) + 1;
  return plain + std::chrono::nanoseconds{next_random(random_) % most};
}

}  // namespace weir::redis
