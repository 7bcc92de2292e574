// A terminal whose whole screen is drawn again and again.
#pragma once

#include <termios.h>

#include <chrono>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace weir::cli {

/// Takes the terminal's other screen, and gives back what was there before at its end. Meanwhile
/// signals that end or stop the process come as events, so that the terminal is left in order.
///
/// Threads  one, and no other in the process: signals are blocked for the caller alone
class LiveScreen {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Event { due, resized, ended };

  /// Standard output must be a terminal; `out` writes to it.
  explicit LiveScreen(std::ostream& out);
  ~LiveScreen();
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;

  struct Size {
    std::size_t columns;
    std::size_t rows;
  };
  static Size size();

  /// Replaces what is shown.
  void draw(const std::vector<std::string>& lines);

  /// Until the time has come, the window has changed, or somebody wants the end: q, Ctrl-C,
  /// SIGTERM.
  Event wait_until(Clock::time_point due);

 private:
  void enter();
  void leave();
  std::optional<Event> take_signal();
  bool key_ends();

  std::ostream& out_;
  int signals_ = -1;
  bool has_keys_ = false;  ///< standard input is a terminal
  termios before_{};
};

}  // namespace weir::cli
