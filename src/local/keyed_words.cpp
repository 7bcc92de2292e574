#include "weir/local/keyed_words.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <thread>

#include "weir/local/atomic_bucket.hpp"
#include "weir/local/overrides.hpp"

namespace weir {
namespace {

/// A header is locked for a few stores; but who holds it may have lost its processor.
class Backoff {
 public:
  void wait() noexcept {
    if (++turns_ > 64) {
      std::this_thread::yield();
      return;
    }
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
  }

 private:
  int turns_ = 0;
};

Instant instant(std::uint64_t tick) noexcept {
  return Instant{Span{static_cast<std::int64_t>(tick)}};
}
std::uint64_t tick_of(Instant at) noexcept {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(at.time_since_epoch().count(), 0));
}
std::uint64_t tick_of(const TickScale& scale, SteadyInstant now) noexcept {
  return scale.ticks(now.time_since_epoch());
}
Gcra::State state_of(std::uint64_t word) noexcept { return {FineInstant{instant(word), 0}}; }

}  // namespace

/// A key that has a quota of its own.
struct KeyedWords::Override {
  Override(std::uint64_t of, const Config& to) : name(of), config{to.bucket, to.scale} {}

  std::uint64_t name;
  AtomicWord::Config config;             ///< under the mutex
  std::optional<AtomicBucket> bucket{};  ///< there once others can see it
};

class KeyedWords::HoldDistrict {
 public:
  explicit HoldDistrict(District& district) noexcept : district_(district) {
    for (Backoff backoff;; backoff.wait()) {
      before_ = load(district.header);
      if ((before_ & Header::locked) == 0 && lock(district.header, before_)) return;
    }
  }
  HoldDistrict(const HoldDistrict&) = delete;
  ~HoldDistrict() { store(district_.header, before_ + Header::step); }

  /// What its header, and those of all its lines, name as the numbers in force.
  std::uint64_t header() const noexcept { return before_; }
  void other_numbers() noexcept { before_ ^= Header::newer; }

 private:
  District& district_;
  std::uint64_t before_ = 0;
};

class KeyedWords::HoldLine {
 public:
  explicit HoldLine(Line& line) noexcept : line_(&line) {
    for (Backoff backoff;; backoff.wait()) {
      before_ = load(line.header);
      if ((before_ & Header::locked) == 0 && lock(line.header, before_)) return;
    }
  }
  HoldLine(const HoldLine&) = delete;
  ~HoldLine() { store(line_->header, before_ + Header::step); }

  void other_numbers() noexcept { before_ ^= Header::newer; }
  std::size_t reach() const noexcept { return (before_ & Header::reach) >> Header::reach_shift; }
  void set_reach(std::size_t lines) noexcept {
    before_ = (before_ & ~Header::reach) | std::uint64_t{lines} << Header::reach_shift;
  }

 private:
  Line* line_;
  std::uint64_t before_ = 0;
};

/// Where a name has its slot, while the district is held; no line where it has none.
struct KeyedWords::Found {
  Line* line = nullptr;
  unsigned slot = 0;

  explicit operator bool() const noexcept { return line; }
};

struct KeyedWords::Change {
  Config before;
  Config after;
  Inherit how;
  std::uint64_t before_at;  ///< the instant of the change, in ticks of both
  std::uint64_t after_at;

  /// The same debt under the new numbers; not below where it stood in time, so that a late reading
  /// is late for them too.
  std::uint64_t converted(std::uint64_t word) const noexcept {
    const Gcra::State state = state_of(word);
    const Gcra::State inherited = inherit<Gcra>({before.bucket, state, instant(before_at)},
                                                {after.bucket, instant(after_at)}, how);
    const auto stood_at = static_cast<std::int64_t>(std::min(word, before_at));
    return std::max(tick_of(inherited.repaid_at.whole),
                    after.scale.ticks(before.scale.nanoseconds(stood_at)));
  }
};

Expected<KeyedWords::Config, ConfigError> KeyedWords::configure(const Quota& wanted) noexcept {
  const auto config = AtomicWord::configure({wanted.count, wanted.period, wanted.burst});
  if (!config) return config.error();
  return Config{config->bucket, config->scale};
}

KeyedWords::KeyedWords(const Config& config, std::size_t max_keys) {
  // Two slots in three are used at most: then hardly any key finds no slot within its window.
  const std::size_t slots = max_keys + max_keys / 2;
  constexpr std::size_t in_district = slots_in_line * lines_in_district;
  const std::size_t count = (slots + in_district - 1) / in_district;
  memory_ = std::calloc(1, count * sizeof(District) + alignof(District));
  if (!memory_) throw std::bad_alloc();
  void* aligned = memory_;
  std::size_t space = count * sizeof(District) + alignof(District);
  districts_ = static_cast<District*>(
      std::align(alignof(District), count * sizeof(District), aligned, space));
  homes_ = count * lines_in_district;
  publish(numbers_[0], config);
}

KeyedWords::~KeyedWords() {
  delete overrides_.load(std::memory_order_relaxed);
  std::free(memory_);
}

void KeyedWords::publish(Numbers& numbers, const Config& config) noexcept {
  numbers.ticks_in_ns.store(config.scale.ticks_in_ns, std::memory_order_release);
  numbers.ns_in_tick.store(config.scale.ns_in_tick, std::memory_order_release);
  numbers.capacity.store(static_cast<std::uint64_t>(config.bucket.capacity.whole.count()),
                         std::memory_order_release);
  numbers.largest.store(static_cast<std::uint64_t>(config.bucket.burst), std::memory_order_release);
  numbers.shift.store(config.scale.shift, std::memory_order_release);
}

KeyedWords::Config KeyedWords::config_at(const Numbers& numbers) noexcept {
  const TickScale scale{numbers.ticks_in_ns.load(std::memory_order_acquire),
                        numbers.ns_in_tick.load(std::memory_order_acquire),
                        numbers.shift.load(std::memory_order_acquire)};
  const auto burst = static_cast<Cost>(numbers.largest.load(std::memory_order_acquire));
  const Interval interval = scale.interval();
  return {{interval, burst, interval.times(burst)}, scale};
}

KeyedWords::Override* KeyedWords::override_of(std::uint64_t name) const noexcept {
  const Overrides<Override>* const overrides = overrides_.load(std::memory_order_acquire);
  return overrides ? overrides->find(name) : nullptr;
}

KeyedWords::Found KeyedWords::find_held(District& district, std::uint64_t name) const noexcept {
  const std::uint64_t header = load(line_behind(district, name, 0).header);
  const std::size_t reach = (header & Header::reach) >> Header::reach_shift;
  for (std::size_t lines = 0; lines <= reach; ++lines) {
    Line& line = line_behind(district, name, lines);
    const int slot = find(line, name);
    if (slot >= 0) return {&line, static_cast<unsigned>(slot)};
  }
  return {};
}

/// The word of a key that has no slot.
std::uint64_t KeyedWords::absent_word(const District& district, std::uint64_t name) noexcept {
  const std::uint64_t floor = load(district.floor);
  if (load(district.shared_peak) <= floor) return floor;
  const std::uint64_t one = load(district.shared[name % shared_in_district]);
  const std::uint64_t two = load(district.shared[name / shared_in_district % shared_in_district]);
  return std::max(floor, std::min(one, two));
}

Outcome KeyedWords::take_aside(std::uint64_t name, const Asked& asked) noexcept {
  District& district = district_of(name);
  for (Backoff backoff;; backoff.wait()) {
    const std::uint64_t before = load(district.header);
    if ((before & Header::locked) != 0) continue;
    if (Override* const own = override_of(name))
      return own->bucket->try_take(asked.now, asked.cost);
    Outcome outcome;
    Met met = try_window(district, name, asked, outcome);
    if (met == Met::absent) met = take_absent(district, before, asked, name, outcome);
    if (met == Met::decided) return outcome;
  }
}

KeyedWords::Met KeyedWords::try_window(District& district, std::uint64_t name, const Asked& asked,
                                       Outcome& outcome) const noexcept {
  const std::uint64_t header = load(line_behind(district, name, 0).header);
  const std::size_t reach = (header & Header::reach) >> Header::reach_shift;
  for (std::size_t lines = 0; lines <= reach; ++lines) {
    const Met met = try_line(line_behind(district, name, lines), name, asked, outcome);
    if (met != Met::absent) return met;
  }
  return Met::absent;
}

/// Decides for a key that had no slot when the district's header was `before`.
KeyedWords::Met KeyedWords::take_absent(District& district, std::uint64_t before,
                                        const Asked& asked, std::uint64_t name,
                                        Outcome& outcome) noexcept {
  const Numbers& numbers = numbers_at(before);
  const Ruling ruling = judge(numbers, absent_word(district, name), asked);
  outcome = outcome_of(numbers, ruling, asked.now);
  if (ruling.verdict != Verdict::granted || asked.cost == 0) {
    return same(district.header, before) ? Met::decided : Met::busy;
  }
  if (!lock(district.header, before)) return Met::busy;
  keep(district, name, ruling);
  store(district.header, before + Header::step);
  return Met::decided;
}

/// Keeps the word of a key that has no slot. Requires the district's lock.
void KeyedWords::keep(District& district, std::uint64_t name, const Ruling& ruling) noexcept {
  // Up to here a word says what `floor` says of a key without one.
  const std::uint64_t repaid = std::max(ruling.at, load(district.floor));
  for (std::size_t lines = 0; lines < window; ++lines) {
    Line& line = line_behind(district, name, lines);
    unsigned slot = 0;
    for (unsigned other = 1; other < slots_in_line; ++other) {
      if (load(line.words[other]) < load(line.words[slot])) slot = other;
    }
    if (load(line.words[slot]) > repaid) continue;
    {
      const HoldLine held(line);
      const std::uint64_t word = load(line.words[slot]);
      if (word > repaid) continue;  // its key came meanwhile
      store(district.floor, std::max(load(district.floor), word));
      store(line.low[slot], static_cast<std::uint32_t>(name));
      store(line.high[slot], static_cast<std::uint16_t>(name >> 32));
      store(line.words[slot], ruling.end);
    }
    if (lines > 0) {
      HoldLine held(line_behind(district, name, 0));
      held.set_reach(std::max(held.reach(), lines));
    }
    return;
  }
  share(district, name, ruling, numbers_at(load(district.header)).capacity);
}

void KeyedWords::share(District& district, std::uint64_t name, const Ruling& ruling,
                       std::uint64_t capacity) noexcept {
  std::uint64_t& one = district.shared[name % shared_in_district];
  std::uint64_t& two = district.shared[name / shared_in_district % shared_in_district];
  // The lesser debt decided. The greater one grows as much, up to a full one: Gcra::charge().
  const std::uint64_t least = std::max({std::min(one, two), load(district.floor), ruling.at});
  const std::uint64_t length = ruling.end - least;
  const std::uint64_t full = ruling.at + capacity;
  const auto charge = [&](std::uint64_t& word) {
    const std::uint64_t start = std::max(word, least);
    store(word, start + length > full ? std::max(start, full) : start + length);
    store(district.shared_peak, std::max(district.shared_peak, word));
  };
  charge(one);
  if (&one != &two) charge(two);
  store(district.shared_answers, district.shared_answers + 1);
}

Standing KeyedWords::peek(std::uint64_t name, SteadyInstant now, Cost cost) {
  District& district = district_of(name);
  const auto standing = [&](const Numbers& numbers, std::uint64_t word) -> Standing {
    const Outcome outcome = outcome_of(numbers, judge(numbers, word, {now, cost}), now);
    const Config config = config_at(numbers);
    const Room room =
        Gcra::room(config.bucket, state_of(word), instant(tick_of(config.scale, now)));
    return {outcome, room.limit, room.remaining, std::max(now, steady(numbers, word))};
  };
  for (Backoff backoff;; backoff.wait()) {
    const std::uint64_t before = load(district.header);
    if ((before & Header::locked) != 0) continue;
    if (Override* const own = override_of(name)) return own->bucket->peek(now, cost);
    const Found found = find_held(district, name);  // or so it seems: both headers tell below
    const std::uint64_t* const header = found ? &found.line->header : &district.header;
    const std::uint64_t seen = load(*header);
    if ((seen & Header::locked) != 0) continue;
    const std::uint64_t word =
        found ? load(found.line->words[found.slot]) : absent_word(district, name);
    const Standing answer = standing(numbers_at(seen), word);
    if (same(*header, seen) && same(district.header, before)) return answer;
  }
}

Cost KeyedWords::refund(std::uint64_t name, SteadyInstant now, Cost units) {
  if (units <= 0) return 0;
  Override* own = nullptr;
  {
    District& district = district_of(name);
    const HoldDistrict hold(district);
    own = override_of(name);
    if (!own) {
      // What a shared word did not count for this key, it would give back at the cost of another.
      const Found found = find_held(district, name);
      if (!found) return 0;
      const HoldLine held(*found.line);
      const Config config = config_at(numbers_at(hold.header()));
      std::uint64_t& word = found.line->words[found.slot];
      Gcra::State state = state_of(load(word));
      const Cost given =
          Gcra::refund(config.bucket, state, instant(tick_of(config.scale, now)), units);
      store(word, std::max<std::uint64_t>(tick_of(state.repaid_at.whole), 1));
      return given;
    }
  }
  return own->bucket->refund(now, units);
}

void KeyedWords::withdraw(std::uint64_t name, SteadyInstant now, Cost units,
                          const Outcome& granted) noexcept {
  if (units <= 0) return;
  Override* own = nullptr;
  {
    District& district = district_of(name);
    const HoldDistrict hold(district);
    own = override_of(name);
    if (!own) {
      const Found found = find_held(district, name);
      if (!found) return;
      const HoldLine held(*found.line);
      const Config config = config_at(numbers_at(hold.header()));
      std::uint64_t& word = found.line->words[found.slot];
      Gcra::State state = state_of(load(word));
      const auto tick = [&](SteadyInstant at) { return instant(tick_of(config.scale, at)); };
      Gcra::withdraw(config.bucket, state, tick(now), {units, tick(granted.ready_at)});
      store(word, std::max<std::uint64_t>(tick_of(state.repaid_at.whole), 1));
      return;
    }
  }
  own->bucket->withdraw(now, units, granted);
}

bool KeyedWords::reset(std::uint64_t name, SteadyInstant now) {
  Override* own = nullptr;
  {
    District& district = district_of(name);
    const HoldDistrict hold(district);
    own = override_of(name);
    if (!own) {
      const Found found = find_held(district, name);
      if (!found) return false;
      const HoldLine held(*found.line);
      store(found.line->words[found.slot], std::uint64_t{0});
      return true;
    }
  }
  const std::lock_guard lock(mutex_);
  own->bucket->reconfigure(now, own->config, Inherit::reset);
  return true;
}

bool KeyedWords::override_for(std::uint64_t name, const Config& to, Inherit how,
                              SteadyInstant now) {
  const std::lock_guard guard(mutex_);
  if (Override* const own = override_of(name)) {
    own->config = {to.bucket, to.scale};
    own->bucket->reconfigure(now, own->config, how);
    return true;
  }
  if (!overrides_.load(std::memory_order_relaxed)) {
    overrides_.store(new Overrides<Override>, std::memory_order_release);
  }
  Overrides<Override>& overrides = *overrides_.load(std::memory_order_relaxed);
  if (overrides.size() == most_overrides) return false;
  auto own = std::make_unique<Override>(name, to);

  District& district = district_of(name);
  const HoldDistrict hold(district);
  std::uint64_t word = absent_word(district, name);
  if (const Found found = find_held(district, name)) {
    // From here on who asks finds no slot, and waits for the district.
    const HoldLine held(*found.line);
    word = load(found.line->words[found.slot]);
    store(found.line->words[found.slot], std::uint64_t{0});
  }
  const Config before = config_at(numbers_at(hold.header()));
  const Change change{before, to, how, tick_of(before.scale, now), tick_of(to.scale, now)};
  own->bucket.emplace(own->config, state_of(change.converted(word)));
  overrides.add(std::move(own));
  return true;
}

void KeyedWords::reconfigure(const Config& to, Inherit how, SteadyInstant now) {
  const std::lock_guard guard(mutex_);
  reconfigured_at_ = std::max(reconfigured_at_, now);
  const Config before = config_at(numbers_[newest_]);
  const Change change{before, to, how, tick_of(before.scale, reconfigured_at_),
                      tick_of(to.scale, reconfigured_at_)};
  newest_ = 1 - newest_;
  publish(numbers_[newest_], to);  // which no header names yet, or any more
  for (std::size_t at = 0; at < homes_ / lines_in_district; ++at) convert(districts_[at], change);
}

/// One district goes over at once, the others go on meanwhile.
void KeyedWords::convert(District& district, const Change& change) noexcept {
  HoldDistrict hold(district);
  // First what is repaid, for it says how late a reading may be for those that have no slot.
  std::uint64_t floor = load(district.floor);
  const std::uint64_t repaid = std::max(floor, change.before_at);
  for (Line& line : district.lines) {
    HoldLine held(line);
    for (std::uint64_t& word : line.words) {
      if (word == 0) continue;
      if (word <= repaid) {
        floor = std::max(floor, word);
        store(word, std::uint64_t{0});
      } else {
        store(word, change.converted(word));
      }
    }
    held.other_numbers();
  }
  std::uint64_t peak = 0;
  for (std::uint64_t& word : district.shared) {
    store(word, word > repaid ? change.converted(word) : 0);
    peak = std::max(peak, word);
  }
  store(district.shared_peak, peak);
  store(district.floor, change.converted(floor));
  hold.other_numbers();
}

KeyedWords::Stats KeyedWords::stats(SteadyInstant now) const {
  constexpr std::size_t most_looked_at = 256;
  const std::size_t count = homes_ / lines_in_district;
  Stats stats;
  stats.slots = homes_ * slots_in_line;
  const std::size_t looked_at = std::min(count, most_looked_at);
  std::uint64_t keys = 0;
  for (std::size_t at = 0; at < looked_at; ++at) {
    const District& district = districts_[at * count / looked_at];
    const std::uint64_t header = load(district.header);
    const std::uint64_t tick = tick_of(config_at(numbers_at(header)).scale, now);
    for (const Line& line : district.lines) {
      for (const std::uint64_t& word : line.words) keys += load(word) > tick ? 1U : 0U;
    }
  }
  stats.keys = static_cast<std::size_t>(keys * count / looked_at);
  for (std::size_t at = 0; at < count; ++at) {
    stats.shared_answers += load(districts_[at].shared_answers);
  }
  stats.bytes = sizeof *this + count * sizeof(District);
  const std::lock_guard guard(mutex_);
  if (const Overrides<Override>* const overrides = overrides_.load(std::memory_order_relaxed)) {
    stats.overrides = overrides->size();
    stats.bytes += sizeof(Overrides<Override>) + stats.overrides * sizeof(Override);
  }
  return stats;
}

}  // namespace weir
