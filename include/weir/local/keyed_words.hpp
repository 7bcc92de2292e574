// Token buckets of many keys in fixed memory, a word each.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "weir/algorithm/gcra.hpp"
#include "weir/local/outcome.hpp"
#include "weir/local/tick_scale.hpp"

namespace weir {

template <typename Entry>
class Overrides;

/// What a key may take.
struct Quota {
  Cost count;  ///< units in each period
  std::chrono::nanoseconds period;
  Cost burst;  ///< units granted at once after a rest
};

/// Keeps a GCRA for each key: the tick at which its debt is repaid (TickScale), in one word. Keys
/// are known by names of 64 bits (KeyNames).
///
/// A name says the line of 64 bytes in which its slot lies, and seven others where that was full. A
/// line's header counts its changes. A decision reads header, slot and word; a refusal then only
/// looks whether the header is the same, a grant locks it by one swap, which fails if anything has
/// changed, and stores twice. Neither ever waits for a thread that decides something else.
///
/// 64 lines are a district, closed in itself. New keys, and all but decisions on keys that are
/// there, go by the district's own header, which is locked before those of lines.
///
/// A slot whose debt is repaid may be taken over by another key: the state of all keys that have no
/// slot is `floor`, the latest word that was given up there, so a clock reading from before is late
/// for them and mints nothing. Where no slot is to be had, a key is counted on two of the
/// district's 64 shared words: the lesser debt decides, and both are charged, so neither ever holds
/// less than the key's own would.
///
/// Threads  safe from any thread
class KeyedWords {
 public:
  using Machine = Gcra;

  /// As many keys may have a quota of their own.
  static constexpr std::size_t most_overrides = 1'024;
  static constexpr std::size_t most_keys = std::size_t{1} << 32;

  struct Config {
    Gcra::Config bucket;  ///< in ticks
    TickScale scale;
  };

  /// Errors
  ///   not_positive  a number is zero or less
  ///   too_fast      above 10^9 units a second
  ///   too_long      the interval, or the time to refill, is above 2^60 ticks (18 years or more)
  static Expected<Config, ConfigError> configure(const Quota& wanted) noexcept;

  /// Requires 1 <= max_keys <= most_keys. Throws bad_alloc.
  KeyedWords(const Config& config, std::size_t max_keys);
  ~KeyedWords();
  KeyedWords(const KeyedWords&) = delete;
  KeyedWords& operator=(const KeyedWords&) = delete;

  void prefetch(std::uint64_t name) const noexcept { __builtin_prefetch(&home(name), 1); }

  /// A negative cost is impossible.
  Outcome take(std::uint64_t name, SteadyInstant now, Cost cost) noexcept {
    Outcome outcome;
    if (try_line(home(name), name, {now, cost}, outcome) == Met::decided) [[likely]]
      return outcome;
    return take_aside(name, {now, cost});
  }

  Standing peek(std::uint64_t name, SteadyInstant now, Cost cost);
  Cost refund(std::uint64_t name, SteadyInstant now, Cost units);
  /// As Host::withdraw(); nothing for a key that shares.
  void withdraw(std::uint64_t name, SteadyInstant now, Cost units, const Outcome& granted) noexcept;
  bool reset(std::uint64_t name, SteadyInstant now);

  /// False where most_overrides keys have a quota already.
  bool override_for(std::uint64_t name, const Config& config, Inherit how, SteadyInstant now);
  void reconfigure(const Config& to, Inherit how, SteadyInstant now);

  struct Stats {
    std::size_t keys = 0;              ///< in debt now, each with a slot; a guess above 60 000
    std::size_t slots = 0;             ///< that there are
    std::size_t bytes = 0;             ///< of memory, most of them from the start
    std::size_t overrides = 0;         ///< keys with a quota of their own
    std::uint64_t shared_answers = 0;  ///< grants on shared words, for want of a slot
  };
  Stats stats(SteadyInstant now) const;

 private:
  static constexpr std::size_t slots_in_line = 4;
  static constexpr std::size_t lines_in_district = 64;
  static constexpr std::size_t shared_in_district = 64;
  static constexpr std::size_t window = 8;  ///< lines in which a key may lie

  /// All that is shared is read and written by atomic_ref: it comes as zeros from calloc.
  struct alignas(64) Line {
    std::uint64_t header;  ///< a Header
    std::array<std::uint32_t, slots_in_line> low;
    std::array<std::uint16_t, slots_in_line> high;   ///< with `low`, 48 bits of the name
    std::array<std::uint64_t, slots_in_line> words;  ///< 0: the slot is empty
  };
  static_assert(sizeof(Line) == 64);

  struct alignas(64) District {
    std::array<Line, lines_in_district> lines;
    // All else changes under this header's lock.
    alignas(64) std::uint64_t header;
    std::uint64_t floor;        ///< the word of every key that has none here
    std::uint64_t shared_peak;  ///< the latest of the shared words
    std::uint64_t shared_answers;
    alignas(64) std::array<std::uint64_t, shared_in_district> shared;
  };
  static_assert(sizeof(District) == std::size_t{73} * 64);

  /// Of a line or a district. 59 bits count, so none comes twice.
  struct Header {
    static constexpr std::uint64_t locked = 1;
    static constexpr std::uint64_t newer = 2;  ///< which of the numbers are in force here
    static constexpr unsigned reach_shift = 2;
    /// Of a line: in how many others one of its keys may lie.
    static constexpr std::uint64_t reach = std::uint64_t{7} << reach_shift;
    static constexpr std::uint64_t step = 32;
  };

  /// What a decision reads of the configuration. Rewritten only when no line's header names it.
  struct alignas(64) Numbers {
    std::atomic<std::uint64_t> ticks_in_ns{0};
    std::atomic<std::uint64_t> ns_in_tick{0};
    std::atomic<std::uint64_t> capacity{0};
    std::atomic<std::uint64_t> largest{0};
    std::atomic<std::uint32_t> shift{0};
  };

  struct Asked {
    SteadyInstant now;
    Cost cost;
  };

  /// A decision on a word.
  struct Ruling {
    Verdict verdict;
    std::uint64_t at;       ///< the request's tick
    std::uint64_t end;      ///< where granted: the word to keep
    std::uint64_t acts_at;  ///< where denied
  };

  enum class Met : std::uint8_t {
    decided,
    absent,  ///< the name has no slot here
    busy,    ///< something changed meanwhile: look again
  };

  struct Override;
  class HoldDistrict;
  class HoldLine;
  struct Found;
  struct Change;

  template <typename T>
  static T load(const T& from) noexcept {
    return std::atomic_ref<T>(const_cast<T&>(from)).load(std::memory_order_acquire);
  }
  template <typename T>
  static void store(T& to, T value) noexcept {
    std::atomic_ref<T>(to).store(value, std::memory_order_release);
  }
  /// Whether nothing was changed since. What lies between the two was read with acquire, and
  /// whoever wrote it had locked the header before, so it is seen locked or newer.
  static bool same(const std::uint64_t& header, std::uint64_t before) noexcept {
    return std::atomic_ref<std::uint64_t>(const_cast<std::uint64_t&>(header))
               .load(std::memory_order_relaxed) == before;
  }
  static bool lock(std::uint64_t& header, std::uint64_t before) noexcept {
    return std::atomic_ref<std::uint64_t>(header).compare_exchange_strong(
        before, before | Header::locked, std::memory_order_acq_rel, std::memory_order_relaxed);
  }

  std::size_t home_index(std::uint64_t name) const noexcept {
    __extension__ using Product = unsigned __int128;
    return static_cast<std::size_t>(Product{name} * homes_ >> 64);
  }
  Line& home(std::uint64_t name) const noexcept {
    const std::size_t index = home_index(name);
    return districts_[index / lines_in_district].lines[index % lines_in_district];
  }

  static int find(const Line& line, std::uint64_t name) noexcept {
    const auto low = static_cast<std::uint32_t>(name);
    const auto high = static_cast<std::uint16_t>(name >> 32);
    // Which slot it is cannot be guessed, so all are compared, without a branch.
    unsigned alike = 0;
    for (unsigned slot = 0; slot < slots_in_line; ++slot) {
      alike |= unsigned{load(line.low[slot]) == low} << slot;
    }
    for (; alike != 0; alike &= alike - 1) {
      const int slot = std::countr_zero(alike);
      const auto at = static_cast<unsigned>(slot);
      if (load(line.high[at]) == high && load(line.words[at]) != 0) return slot;
    }
    return -1;
  }

  static Ruling judge(const Numbers& numbers, std::uint64_t word, const Asked& asked) noexcept {
    const auto cost = static_cast<std::uint64_t>(asked.cost);
    if (cost > numbers.largest.load(std::memory_order_acquire)) {  // or negative
      return {Verdict::impossible, 0, 0, 0};
    }
    const std::uint64_t at = TickScale::ticks(asked.now.time_since_epoch().count(),
                                              numbers.ticks_in_ns.load(std::memory_order_acquire));
    const std::uint64_t end =
        (word > at ? word : at) + (cost << numbers.shift.load(std::memory_order_acquire));
    const std::uint64_t full = at + numbers.capacity.load(std::memory_order_acquire);
    if (end > full) return {Verdict::denied, at, 0, at + (end - full)};
    return {Verdict::granted, at, end, at};
  }

  static Outcome outcome_of(const Numbers& numbers, const Ruling& ruling,
                            SteadyInstant now) noexcept {
    if (ruling.verdict == Verdict::granted) return {Verdict::granted, Refusal::none, now};
    if (ruling.verdict == Verdict::impossible) {
      return {Verdict::impossible, Refusal::limit, SteadyInstant::max()};
    }
    return {Verdict::denied, Refusal::limit, steady(numbers, ruling.acts_at)};
  }

  static SteadyInstant steady(const Numbers& numbers, std::uint64_t tick) noexcept {
    const TickScale scale{numbers.ticks_in_ns.load(std::memory_order_acquire),
                          numbers.ns_in_tick.load(std::memory_order_acquire), 0};
    return SteadyInstant{scale.nanoseconds(static_cast<std::int64_t>(tick))};
  }

  const Numbers& numbers_at(std::uint64_t header) const noexcept {
    return numbers_[(header & Header::newer) != 0];
  }

  Met try_line(Line& line, std::uint64_t name, const Asked& asked,
               Outcome& outcome) const noexcept {
    const std::uint64_t before = load(line.header);
    if ((before & Header::locked) != 0) return Met::busy;
    const int found = find(line, name);
    if (found < 0) return Met::absent;
    std::uint64_t& word = line.words[static_cast<unsigned>(found)];
    const Numbers& numbers = numbers_at(before);
    const Ruling ruling = judge(numbers, load(word), asked);
    if (ruling.verdict == Verdict::granted && asked.cost > 0) {
      outcome = {Verdict::granted, Refusal::none, asked.now};
      if (!lock(line.header, before)) return Met::busy;
      store(word, ruling.end);
      store(line.header, before + Header::step);
      return Met::decided;
    }
    outcome = outcome_of(numbers, ruling, asked.now);
    return same(line.header, before) ? Met::decided : Met::busy;
  }

  Outcome take_aside(std::uint64_t name, const Asked& asked) noexcept;
  Met try_window(District& district, std::uint64_t name, const Asked& asked,
                 Outcome& outcome) const noexcept;
  Met take_absent(District& district, std::uint64_t before, const Asked& asked, std::uint64_t name,
                  Outcome& outcome) noexcept;
  void keep(District& district, std::uint64_t name, const Ruling& ruling) noexcept;
  static void share(District& district, std::uint64_t name, const Ruling& ruling,
                    std::uint64_t capacity) noexcept;
  static std::uint64_t absent_word(const District& district, std::uint64_t name) noexcept;
  District& district_of(std::uint64_t name) const noexcept {
    return districts_[home_index(name) / lines_in_district];
  }
  /// The home for 0, then the others in their order: each name strides in its own way, so that keys
  /// who miss one line together part at the next.
  Line& line_behind(District& district, std::uint64_t name, std::size_t lines) const noexcept {
    const std::size_t stride = (name >> 16) | 1;
    return district.lines[(home_index(name) + lines * stride) % lines_in_district];
  }
  Found find_held(District& district, std::uint64_t name) const noexcept;
  Override* override_of(std::uint64_t name) const noexcept;
  static Config config_at(const Numbers& numbers) noexcept;
  static void publish(Numbers& numbers, const Config& config) noexcept;
  static void convert(District& district, const Change& change) noexcept;

  District* districts_ = nullptr;
  std::size_t homes_ = 0;
  std::array<Numbers, 2> numbers_;
  std::atomic<Overrides<Override>*> overrides_{nullptr};

  // For what is rare: overrides and changes of the numbers.
  mutable std::mutex mutex_;
  void* memory_ = nullptr;
  std::size_t newest_ = 0;           ///< of the numbers
  SteadyInstant reconfigured_at_{};  ///< the latest
};

}  // namespace weir
