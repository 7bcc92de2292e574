// How much is in flight, of how much, and whether somebody waits: one atomic word.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "weir/overload/call.hpp"
#include "weir/overload/ceilings.hpp"

namespace weir {

/// The word of a concurrency limit. It is swapped by who enters and subtracted from by who leaves;
/// a refusal writes nothing.
///
///   bits 0 to 31    the weight in flight
///   bit 32          somebody waits: then nobody enters but with the lock
///   bits 33 to 63   the limit
///
/// All three change together, so nobody enters by a limit that is in force no more.
class ConcurrencyWord {
 public:
  enum class Answer : std::uint8_t {
    entered,
    full,
    impossible,         ///< heavier than all that its priority may fill, or of no weight
    ask_with_the_lock,  ///< there is room, and somebody waits
  };
  struct Entered {
    Answer answer;
    std::int64_t in_flight;  ///< with this one, where it entered
  };

  struct Config {
    std::int64_t limit;  ///< 1 to PriorityShares::most
    PriorityShares shares;
  };
  explicit ConcurrencyWord(const Config& config) noexcept
      : shares_(config.shares), word_(static_cast<std::uint64_t>(config.limit) << limit_bit) {}

  [[gnu::always_inline]] Entered try_enter(const Entry& entry) noexcept {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
      const Entered asked = judge(seen, entry);
      if (asked.answer != Answer::entered) return asked;
      if ((seen & somebody_waits) != 0) return {Answer::ask_with_the_lock, 0};
      if (word_.compare_exchange_strong(seen, seen + static_cast<std::uint64_t>(entry.weight),
                                        std::memory_order_acquire, std::memory_order_relaxed)) {
        return asked;
      }
    }
  }

  /// True where somebody waits, whom the room is to be handed to.
  [[gnu::always_inline]] bool leave(std::int64_t weight) noexcept {
    // Acquired too: what the others that have left did comes before what is done with their room.
    return (word_.fetch_sub(static_cast<std::uint64_t>(weight), std::memory_order_acq_rel) &
            somebody_waits) != 0;
  }

  std::int64_t limit() const noexcept { return limit_of(word_.load(std::memory_order_relaxed)); }
  std::int64_t in_flight() const noexcept {
    return static_cast<std::int64_t>(word_.load(std::memory_order_relaxed) & weight_bits);
  }

  // The rest is for who holds the lock.

  /// Keeps out all who have not the lock. From here on the weight in flight only falls.
  void close() noexcept { word_.fetch_or(somebody_waits, std::memory_order_acquire); }
  /// Requires that it was closed.
  void open() noexcept { word_.fetch_sub(somebody_waits, std::memory_order_release); }

  /// Requires that it is closed.
  Entered enter_closed(const Entry& entry) noexcept {
    const Entered asked = judge(word_.load(std::memory_order_acquire), entry);
    if (asked.answer == Answer::entered) {
      word_.fetch_add(static_cast<std::uint64_t>(entry.weight), std::memory_order_acquire);
    }
    return asked;
  }

  void set_limit(std::int64_t limit) noexcept {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
      const std::uint64_t low = seen & ((std::uint64_t{1} << limit_bit) - 1);
      const std::uint64_t next = low | (static_cast<std::uint64_t>(limit) << limit_bit);
      if (word_.compare_exchange_strong(seen, next, std::memory_order_acq_rel,
                                        std::memory_order_relaxed)) {
        return;
      }
    }
  }

  bool is_possible(const Entry& entry) const noexcept {
    return judge(word_.load(std::memory_order_relaxed), entry).answer != Answer::impossible;
  }

 private:
  static constexpr unsigned limit_bit = 33;
  static constexpr std::uint64_t somebody_waits = std::uint64_t{1} << 32;
  static constexpr std::uint64_t weight_bits = somebody_waits - 1;

  static std::int64_t limit_of(std::uint64_t word) noexcept {
    return static_cast<std::int64_t>(word >> limit_bit);
  }

  [[gnu::always_inline]] Entered judge(std::uint64_t word, const Entry& entry) const noexcept {
    const std::uint64_t ceiling = shares_.ceiling(word >> limit_bit, entry.priority);
    const auto weight = static_cast<std::uint64_t>(entry.weight);
    const std::uint64_t after = (word & weight_bits) + weight;
    if (weight - 1 < ceiling && after <= ceiling) [[likely]] {  // 0 is above all, as negatives are
      return {Answer::entered, static_cast<std::int64_t>(after)};
    }
    return {weight - 1 < ceiling ? Answer::full : Answer::impossible, 0};
  }

  alignas(64) PriorityShares shares_;  ///< in one line with the word
  std::atomic<std::uint64_t> word_;
};

}  // namespace weir
