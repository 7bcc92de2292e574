// One limit, parts of which are kept for those they were promised to.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

#include "weir/overload/call.hpp"
#include "weir/vocabulary.hpp"

namespace weir {

/// How much each partition has in flight, of one limit. A partition may always fill what it is
/// guaranteed: what it leaves of that is kept free for it. What is guaranteed to nobody is open to
/// all.
///
/// Bound    the sum in flight is not above the limit when anything is let in; and while nothing is
///          above its guarantee and the open part, one below its guarantee finds the rest free
/// Memory   16 bytes for each of `most_partitions`
/// Cost     one comparison to enter or leave; set_limit goes over all
class Partitions {
 public:
  static constexpr std::size_t most_partitions = 64;
  /// The largest limit.
  static constexpr std::int64_t most = (std::int64_t{1} << 31) - 1;

  struct Config {
    std::int64_t limit = 1;  ///< 1 to `most`
    std::size_t count = 0;
    std::array<double, most_partitions> shares{};
  };

  /// Shares of the limit; what each is guaranteed is rounded down.
  static Expected<Config, SettingsError> configure(std::int64_t limit,
                                                   std::span<const double> shares) noexcept {
    if (limit < 1 || limit > most) return SettingsError{"limit", "from 1 to 2147483647"};
    if (shares.empty() || shares.size() > most_partitions) {
      return SettingsError{"partitions", "1 to 64 of them"};
    }
    Config config{limit, shares.size(), {}};
    double sum = 0;
    for (std::size_t at = 0; at < shares.size(); ++at) {
      if (!(shares[at] >= 0 && shares[at] <= 1)) return SettingsError{"share", "from 0 to 1"};
      config.shares[at] = shares[at];
      sum += shares[at];
    }
    // Ten tenths are a whole, though they do not add up to it.
    if (sum > 1 + 1e-9) return SettingsError{"share", "1 at most, all partitions together"};
    return config;
  }

  explicit Partitions(const Config& config) noexcept : config_(config) { set_limit(config.limit); }

  std::size_t count() const noexcept { return config_.count; }
  std::int64_t limit() const noexcept { return config_.limit; }
  std::int64_t in_flight() const noexcept { return in_flight_of_all_; }
  std::int64_t in_flight(std::size_t partition) const noexcept { return in_flight_[partition]; }
  std::int64_t guaranteed(std::size_t partition) const noexcept { return guaranteed_[partition]; }
  /// The most that a partition ever has in flight: what is not guaranteed to others.
  std::int64_t ceiling(std::size_t partition) const noexcept {
    const auto all = std::accumulate(guaranteed_.begin(), guaranteed_.end(), std::int64_t{0});
    return config_.limit - (all - guaranteed_[partition]);
  }

  bool is_possible(std::size_t partition, std::int64_t weight) const noexcept {
    return weight >= 1 && weight <= ceiling(partition);
  }
  /// Whether what it is guaranteed has room; for the rest it stands beside all others.
  bool fits_guarantee(std::size_t partition, std::int64_t weight) const noexcept {
    return in_flight_[partition] + weight <= guaranteed_[partition] && fits(partition, weight);
  }
  bool fits(std::size_t partition, std::int64_t weight) const noexcept {
    const std::int64_t more = spoken_for(partition, in_flight_[partition] + weight) -
                              spoken_for(partition, in_flight_[partition]);
    // The second only after the limit was lowered below what is in flight.
    return spoken_for_ + more <= config_.limit ||
           (more == 0 && in_flight_of_all_ + weight <= config_.limit);
  }

  /// Requires that it fits.
  void enter(std::size_t partition, std::int64_t weight) noexcept { change(partition, weight); }
  /// Requires that it entered.
  void leave(std::size_t partition, std::int64_t weight) noexcept { change(partition, -weight); }

  /// Requires 1 to `most`.
  void set_limit(std::int64_t limit) noexcept {
    config_.limit = limit;
    std::int64_t left = limit;
    for (std::size_t at = 0; at < config_.count; ++at) {
      // 0.29 of 100 is 29, though as doubles it is not quite.
      const double share = config_.shares[at] * static_cast<double>(limit) + 1e-6;
      guaranteed_[at] = std::min(static_cast<std::int64_t>(share), left);
      left -= guaranteed_[at];
    }
    spoken_for_ = 0;
    for (std::size_t at = 0; at < config_.count; ++at) {
      spoken_for_ += spoken_for(at, in_flight_[at]);
    }
  }

 private:
  std::int64_t spoken_for(std::size_t partition, std::int64_t in_flight) const noexcept {
    return std::max(in_flight, guaranteed_[partition]);
  }

  void change(std::size_t partition, std::int64_t by) noexcept {
    std::int64_t& in_flight = in_flight_[partition];
    spoken_for_ -= spoken_for(partition, in_flight);
    in_flight += by;
    in_flight_of_all_ += by;
    spoken_for_ += spoken_for(partition, in_flight);
  }

  Config config_;
  std::array<std::int64_t, most_partitions> in_flight_{};
  std::array<std::int64_t, most_partitions> guaranteed_{};
  std::int64_t in_flight_of_all_ = 0;
  std::int64_t spoken_for_ = 0;  ///< in flight, or kept free for one partition
};

}  // namespace weir
