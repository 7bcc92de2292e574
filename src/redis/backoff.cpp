#include "redis/backoff.hpp"

#include <algorithm>
#include <stdexcept>

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

std::uint64_t next_random(std::uint64_t& state) noexcept {
  std::uint64_t z = state += 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

}  // namespace weir::redis
