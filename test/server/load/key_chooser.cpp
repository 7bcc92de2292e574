#include "test/server/load/key_chooser.hpp"

#include <algorithm>
#include <cmath>

namespace weir::load {

KeyChooser::KeyChooser(const Keys& keys, Seed seed) : count_(keys.count), state_(seed.value) {
  if (keys.spread == Keys::Spread::uniform) return;
  double sum = 0;
  for (std::uint64_t i = 0; i < count_; ++i) {
    sum += std::pow(static_cast<double>(i + 1), -keys.exponent);
    chance_up_to_.push_back(sum);
  }
  for (double& chance : chance_up_to_) chance /= sum;
}

std::uint64_t KeyChooser::next() {
  if (count_ == 1) return 0;
  if (chance_up_to_.empty()) return random() % count_;
  const double drawn = static_cast<double>(random() >> 11) * 0x1p-53;
  const auto key = std::upper_bound(chance_up_to_.begin(), chance_up_to_.end() - 1, drawn);
  return static_cast<std::uint64_t>(key - chance_up_to_.begin());
}

/// SplitMix64, because the standard's distributions differ from library to library.
std::uint64_t KeyChooser::random() {
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace weir::load
