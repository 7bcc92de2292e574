#include "server/notify.hpp"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <optional>

namespace weir::server {
namespace {

std::string_view variable(const char* name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): read once, before any thread, and never set
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view{} : std::string_view{value};
}

std::optional<long long> number(std::string_view text) {
  long long value = 0;
  const auto [stop, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc{} || stop != text.data() + text.size()) return {};
  return value;
}

/// The variables are inherited: the process id tells whether this process was meant.
bool is_watched() {
  if (number(variable("WATCHDOG_USEC")).value_or(0) <= 0) return false;
  const std::string_view meant = variable("WATCHDOG_PID");
  return meant.empty() || number(meant) == ::getpid();
}

}  // namespace

Supervisor Supervisor::of_environment() {
  return Supervisor(
      {.address = std::string(variable("NOTIFY_SOCKET")), .is_watched = is_watched()});
}

void Supervisor::reloading() const {
  // The instant lets the manager tell this reload's end from an earlier one's; since systemd 253.
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const auto now_us = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  tell("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(now_us));
}

void Supervisor::tell(std::string_view message) const {
  const std::string& address = wishes_.address;
  sockaddr_un to{};
  if (address.size() < 2 || address.size() >= sizeof(to.sun_path)) return;
  if (address.front() != '/' && address.front() != '@') return;
  to.sun_family = AF_UNIX;
  std::copy(address.begin(), address.end(), to.sun_path);
  std::size_t length = offsetof(sockaddr_un, sun_path) + address.size();
  if (address.front() == '@') {
    to.sun_path[0] = '\0';  // an abstract name: as long as it is, without an end mark
  } else {
    ++length;
  }

  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return;
  const timeval patience{.tv_sec = 1, .tv_usec = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  ::sendto(socket, message.data(), message.size(), MSG_NOSIGNAL,
           reinterpret_cast<const sockaddr*>(&to), static_cast<socklen_t>(length));
  ::close(socket);
}

}  // namespace weir::server
