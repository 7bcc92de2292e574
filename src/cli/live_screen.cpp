#include "cli/live_screen.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <ostream>

namespace weir::cli {
namespace {

sigset_t signals_of_interest() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH}) {
    sigaddset(&set, signal);
  }
  return set;
}

}  // namespace

LiveScreen::LiveScreen(std::ostream& out) : out_(out) {
  const sigset_t set = signals_of_interest();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signals_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  enter();
}

LiveScreen::~LiveScreen() {
  leave();
  ::close(signals_);
  const sigset_t set = signals_of_interest();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

LiveScreen::Size LiveScreen::size() {
  winsize window{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col == 0) return {80, 24};
  return {window.ws_col, std::max<std::size_t>(window.ws_row, 1)};
}

void LiveScreen::enter() {
  has_keys_ = ::isatty(STDIN_FILENO) && ::tcgetattr(STDIN_FILENO, &before_) == 0;
  if (has_keys_) {
    termios keys = before_;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &keys);
  }
  // The other screen, no cursor, and lines that are too long end at the edge.
  out_ << "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J" << std::flush;
}

void LiveScreen::leave() {
  out_ << "\x1b[?7h\x1b[?25h\x1b[?1049l" << std::flush;
  if (has_keys_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
}

void LiveScreen::draw(const std::vector<std::string>& lines) {
  out_ << "\x1b[H";
  for (std::size_t at = 0; at < lines.size(); ++at) {
    // Erased before, not behind: at the right edge the cursor stands on the last character.
    out_ << (at > 0 ? "\r\n" : "") << "\x1b[2K" << lines[at];
  }
  if (lines.size() < size().rows) out_ << "\r\n\x1b[J";
  out_ << std::flush;
}

LiveScreen::Event LiveScreen::wait_until(Clock::time_point due) {
  for (;;) {
    // A terminal that is gone takes no more.
    if (!out_) return Event::ended;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - Clock::now()).count();
    if (left <= 0) return Event::due;
    std::array<pollfd, 2> ready{pollfd{signals_, POLLIN, 0},
                                pollfd{has_keys_ ? STDIN_FILENO : -1, POLLIN, 0}};
    constexpr std::int64_t longest = 60'000;
    if (::poll(ready.data(), ready.size(), static_cast<int>(std::min(left, longest))) <= 0) {
      continue;
    }
    if (ready[1].revents != 0 && key_ends()) return Event::ended;
    if (ready[0].revents == 0) continue;
    if (const auto event = take_signal()) return *event;
  }
}

std::optional<LiveScreen::Event> LiveScreen::take_signal() {
  signalfd_siginfo taken{};
  if (::read(signals_, &taken, sizeof taken) != sizeof taken) return {};
  if (taken.ssi_signo == SIGWINCH) return Event::resized;
  if (taken.ssi_signo != SIGTSTP) return Event::ended;
  leave();
  ::raise(SIGSTOP);
  enter();
  return Event::resized;
}

bool LiveScreen::key_ends() {
  char key = 0;
  // Without anybody who could type there is nobody who looks.
  return ::read(STDIN_FILENO, &key, 1) <= 0 || key == 'q' || key == 'Q';
}

}  // namespace weir::cli
