// What a network does wrong to the bytes of one direction: no sockets, no clock.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "wire/resp_reader.hpp"

namespace weir::test {

using SteadyTime = std::chrono::steady_clock::time_point;

/// Faults of one direction of one connection. Positions count bytes, or replies, from the moment
/// that the faults were set; `_ppm` are parts of a million, by chance.
struct WayFaults {
  std::chrono::nanoseconds delay{};          ///< what arrives is passed on so much later
  std::chrono::nanoseconds jitter{};         ///< and by chance up to so much more; the order stays
  std::size_t piece_bytes = 0;               ///< no write is longer; 0: as it arrives
  std::size_t bytes_per_second = 0;          ///< 0: as fast as it goes
  bool stalled = false;                      ///< nothing is read, and nothing passed on
  std::optional<std::size_t> reset_after{};  ///< bytes; then both ends see a reset
  std::optional<std::size_t> close_after{};  ///< bytes; then the receiver sees the end
  std::optional<std::size_t> corrupt_at{};   ///< this byte has one bit flipped
  std::optional<std::size_t> drop_reply{};   ///< the how manieth, from 0, is left out
  std::optional<std::size_t> lose_reply{};   ///< at it both ends see a reset: none of it passes
  std::uint32_t corrupt_ppm = 0;             ///< of bytes
  std::uint32_t duplicate_ppm = 0;           ///< of reads: passed on twice
  std::uint32_t lose_reply_ppm = 0;          ///< of replies
};

/// How often something was done.
struct WayStats {
  std::uint64_t bytes = 0;  ///< that came in
  std::uint64_t corrupted = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t dropped_replies = 0;
  std::uint64_t lost_replies = 0;

  WayStats& operator+=(const WayStats& other) noexcept;
};

/// Bytes go in as they arrive, and come out as the faults let them.
///
/// Memory   most_held, and one read
class FaultWay {
 public:
  static constexpr std::size_t most_held = 1 << 20;

  /// What the receiver is to see once it has had all bytes.
  enum class End : std::uint8_t { none, close, reset };

  explicit FaultWay(std::uint64_t seed) : random_(seed) {}

  /// From now on; what is held already keeps its instant.
  void set(const WayFaults& faults);

  /// Whether more may be read from the sender.
  bool has_room() const { return !faults_.stalled && end_ == End::none && held_ < most_held; }
  void take(std::string_view bytes, SteadyTime now);
  /// The sender has finished.
  void finish();

  /// What may be written now.
  std::string_view due(SteadyTime now) const;
  void wrote(std::size_t bytes, SteadyTime now);
  /// When due() has something; max() where nothing is held.
  SteadyTime due_at() const;
  /// Told once all that goes before it was written.
  End end() const;

  const WayStats& stats() const { return stats_; }

 private:
  struct Chunk {
    std::string bytes;
    SteadyTime due_at;
  };

  bool by_chance(std::uint32_t ppm) { return ppm > 0 && random_() % 1'000'000 < ppm; }
  std::string without_dropped(std::string_view bytes);
  void corrupt(std::string& bytes);
  void cut(std::string& bytes);
  void hold(std::string bytes, SteadyTime due_at);

  WayFaults faults_;
  std::mt19937_64 random_;
  WayStats stats_;
  std::deque<Chunk> chunks_;
  std::size_t held_ = 0;
  std::size_t seen_ = 0;      ///< bytes since the faults were set
  std::size_t replies_ = 0;   ///< since the faults were set
  wire::ReplyReader reader_;  ///< finds where replies end
  std::string reply_;         ///< one that has come in part, while replies may be left out
  SteadyTime last_due_at_{};
  SteadyTime free_at_{};  ///< the link is taken until then
  End end_ = End::none;
};

}  // namespace weir::test
