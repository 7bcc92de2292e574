// The clocks of a made-up machine, a timeline over them, and what any thread may be told.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "test/model/turns.hpp"

namespace weir::model {

/// A timeline that has been calibrated, shortly before the end of its first line. Time is the
/// machine's own and passes with each reading; the threads push it on as they like.
class ClockStage {
 public:
  enum class Calibrated : std::uint8_t { no, yes };
  static constexpr std::int64_t ms = 1'000'000;

  explicit ClockStage(Calibrated calibrated);
  ~ClockStage();

  ClockStage(const ClockStage&) = delete;
  ClockStage& operator=(const ClockStage&) = delete;

  static void pass(std::int64_t ns);
  /// The counter jumps; time is the counter's fault until the line ends, so no error is judged.
  void jump(std::uint64_t ticks);

  /// Reads the clock, and looks whether the answer is a fault.
  void read(std::size_t thread);

  bool follows_tsc();
  std::string judge() const;

 private:
  struct Parts;

  Parts* parts_;  ///< kept to the file that is compiled with points
  std::atomic<bool> jumped_{false};
  std::array<std::int64_t, most_threads> last_{};
  std::array<std::string, most_threads> faults_;
};

}  // namespace weir::model
