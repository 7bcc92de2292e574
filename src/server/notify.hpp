// What a service manager is told of the server: systemd's protocol, without its library.
#pragma once

#include <string>
#include <string_view>

namespace weir::server {

/// The process that started this one and watches it; nobody, where none asked to be told.
///
/// Threads  one at a time
/// Errors   none: a message that nobody takes is dropped, for a server must outlive its watcher
class Supervisor {
 public:
  /// As its environment asks.
  struct Wishes {
    std::string address;  ///< a path, or '@' and a name that is in no folder; empty: nobody asks
    bool is_watched = false;  ///< wants to hear alive() more often than its watchdog barks
  };

  explicit Supervisor(Wishes wishes) : wishes_(std::move(wishes)) {}

  /// Of NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID.
  static Supervisor of_environment();

  void ready() const { tell("READY=1"); }        ///< Serves, or serves again after reloading().
  void reloading() const;                        ///< Reads its settings anew; ready() follows.
  void stopping() const { tell("STOPPING=1"); }  ///< Drains.
  /// The watchdog's question, answered; call it at least every second.
  void alive() const {
    if (wishes_.is_watched) tell("WATCHDOG=1");
  }

 private:
  void tell(std::string_view message) const;

  Wishes wishes_;
};

}  // namespace weir::server
