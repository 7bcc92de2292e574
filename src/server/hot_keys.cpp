#include "server/hot_keys.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <unordered_map>

namespace weir::server {
namespace {

/// Above so many samples a second fewer decisions are sampled; at a quarter of them, more.
constexpr std::uint32_t most_samples = 512;

/// Rates below this are none.
constexpr double least_rate = 0.05;

}  // namespace

void FrequentKeys::add(const Calls& calls) noexcept {
  const auto end = hashes_.begin() + static_cast<std::ptrdiff_t>(used_);
  const auto found = std::find(hashes_.begin(), end, calls.hash);
  auto at = static_cast<std::size_t>(found - hashes_.begin());
  if (found != end) {
    entries_[at].calls += calls.count;
    entries_[at].variance += calls.variance;
    return;
  }
  double others = 0;
  if (used_ < room) {
    at = used_++;
    floor_ = std::min(floor_, calls.count);
  } else {
    at = least();
    others = entries_[at].calls;
  }
  hashes_[at] = calls.hash;
  Entry& entry = entries_[at];
  entry.hash = calls.hash;
  entry.rule = calls.rule;
  entry.calls = others + calls.count;
  entry.others = others;
  entry.variance = calls.variance;
  entry.key_bytes = calls.key.size();
  const std::string_view kept = calls.key.substr(0, kept_bytes);
  std::copy(kept.begin(), kept.end(), entry.key_begin.begin());
}

/// The entry with the fewest calls. Where keys come once each, many entries have as few: the next
/// of them is near.
std::size_t FrequentKeys::least() noexcept {
  for (;;) {
    double fewest = std::numeric_limits<double>::infinity();
    for (std::size_t step = 0; step < room; ++step) {
      looked_at_ = (looked_at_ + 1) % room;
      const double calls = entries_[looked_at_].calls;
      if (calls <= floor_) return looked_at_;
      fewest = std::min(fewest, calls);
    }
    floor_ = fewest;
  }
}

void FrequentKeys::fade(double factor) noexcept {
  floor_ *= factor;
  std::size_t kept = 0;
  for (std::size_t at = 0; at < used_; ++at) {
    Entry& entry = entries_[at];
    entry.calls *= factor;
    entry.others *= factor;
    entry.variance *= factor * factor;
    if (entry.calls < forgotten_below) continue;
    if (kept != at) entries_[kept] = entry;
    hashes_[kept] = entry.hash;
    ++kept;
  }
  // What is forgotten leaves no bytes of a key behind.
  std::fill(entries_.begin() + static_cast<std::ptrdiff_t>(kept),
            entries_.begin() + static_cast<std::ptrdiff_t>(used_), Entry{});
  used_ = kept;
}

HotKeys::HotKeys(const HashKey& key, std::size_t worker, Instant began)
    : random_(keyed_hash(key, std::to_string(worker)) | 1), key_(key), ticked_at_(began) {}

/// From 1 to the size of the next block, a power of two.
std::uint32_t HotKeys::random_place() noexcept {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  return 1 + (static_cast<std::uint32_t>(random_ >> 32) & (next_block_ - 1));
}

void HotKeys::sample(const Named& named, Verdict verdict) noexcept {
  const double stands_for = block_;
  const FrequentKeys::Calls calls{
      .hash = keyed_hash(key_, named.key) ^ (std::uint64_t{named.rule->id} * 0x9e3779b97f4a7c15),
      .rule = named.rule,
      .key = named.key,
      .count = stands_for,
      .variance = stands_for * (stands_for - 1)};
  hottest_.add(calls);
  if (!taken(verdict)) most_refused_.add(calls);

  if (++samples_ == most_samples && next_block_ < widest_block) {
    next_block_ *= 2;
    samples_ = 0;
  }
  const std::uint32_t rest_of_block = block_ - place_;
  block_ = next_block_;
  place_ = random_place();
  until_sample_ = rest_of_block + place_;
}

void HotKeys::tick(Instant now) {
  const double passed_s = std::max(0.0, std::chrono::duration<double>(now - ticked_at_).count());
  ticked_at_ = now;
  span_s_ += passed_s;
  const auto hottest = hottest_.entries();
  const auto most_refused = most_refused_.entries();
  {
    const std::lock_guard lock(mutex_);
    published_.span_s = span_s_;
    published_.hottest.assign(hottest.begin(), hottest.end());
    published_.most_refused.assign(most_refused.begin(), most_refused.end());
  }
  const double factor = std::exp2(-passed_s / half_life_s);
  hottest_.fade(factor);
  most_refused_.fade(factor);
  span_s_ *= factor;
  if (samples_ < most_samples / 4 && next_block_ > 1) next_block_ /= 2;
  samples_ = 0;
}

HotKeys::Published HotKeys::published() const {
  const std::lock_guard lock(mutex_);
  return published_;
}

HotKeys& HotKeyBoard::add_worker(Instant began) {
  const std::lock_guard lock(mutex_);
  return *workers_.emplace_back(std::make_unique<HotKeys>(key_, workers_.size(), began));
}

namespace {

/// Adds up what workers saw of the same keys.
class Merger {
 public:
  void add(const std::vector<FrequentKeys::Entry>& entries, double span_s) {
    ++workers_;
    if (span_s <= 0) return;
    double fewest = std::numeric_limits<double>::infinity();
    for (const FrequentKeys::Entry& entry : entries) {
      fewest = std::min(fewest, entry.calls);
      Sum& sum = sums_[entry.hash];
      sum.entry = &entry;
      sum.calls_per_s += entry.calls / span_s;
      sum.others_per_s += entry.others / span_s;
      sum.variance += entry.variance / (span_s * span_s);
      ++sum.workers;
    }
    // A key that a full sketch does not have may have as many calls there as the least it has.
    if (entries.size() == FrequentKeys::room) may_lack_per_s_ += fewest / span_s;
  }

  std::vector<KeyRate> top(std::size_t count) const {
    std::vector<KeyRate> rates;
    for (const auto& [hash, sum] : sums_) {
      if (sum.calls_per_s < least_rate) continue;
      const FrequentKeys::Entry& entry = *sum.entry;
      const double lacked = sum.workers < workers_ ? may_lack_per_s_ : 0;
      const double error = sum.others_per_s + lacked + 2 * std::sqrt(sum.variance);
      // One sample of a key that came once stands for many calls; it says nothing yet.
      if (sum.calls_per_s <= error) continue;
      rates.push_back({.hash = hash,
                       .rule = entry.rule,
                       .key_begin = {entry.key_begin.data(),
                                     std::min(entry.key_bytes, FrequentKeys::kept_bytes)},
                       .key_bytes = entry.key_bytes,
                       .calls_per_s = sum.calls_per_s,
                       .error_per_s = error});
    }
    // Ties by hash, so that what is shown does not jump about.
    std::ranges::sort(rates, [](const KeyRate& left, const KeyRate& right) {
      if (left.calls_per_s != right.calls_per_s) return left.calls_per_s > right.calls_per_s;
      return left.hash < right.hash;
    });
    if (rates.size() > count) rates.resize(count);
    return rates;
  }

 private:
  struct Sum {
    const FrequentKeys::Entry* entry = nullptr;
    double calls_per_s = 0;
    double others_per_s = 0;
    double variance = 0;
    std::size_t workers = 0;
  };
  std::unordered_map<std::uint64_t, Sum> sums_;
  double may_lack_per_s_ = 0;
  std::size_t workers_ = 0;
};

}  // namespace

KeyRates HotKeyBoard::top(std::size_t count) const {
  std::vector<HotKeys::Published> seen;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& worker : workers_) seen.push_back(worker->published());
  }
  Merger hottest;
  Merger most_refused;
  for (const HotKeys::Published& each : seen) {
    hottest.add(each.hottest, each.span_s);
    most_refused.add(each.most_refused, each.span_s);
  }
  return {hottest.top(count), most_refused.top(count)};
}

}  // namespace weir::server
