// A proxy that does to a connection what networks do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "test/fault/fault_way.hpp"

namespace weir::test {

/// What is wrong with one connection.
struct ConnectionFaults {
  WayFaults requests{};  ///< from who connected
  WayFaults replies{};   ///< from the server behind
};

/// Listens on a free port of 127.0.0.1 and passes on to another one, as it is told, on a thread of
/// its own. With the same seed and the same reads chance does the same to a connection.
///
/// Threads  its verbs from any
/// Memory   most_connections, of each 2 * FaultWay::most_held; further connections are reset
class FaultProxy {
 public:
  static constexpr std::size_t most_connections = 256;

  /// Connections are numbered as they come, from 0.
  using Choose = std::function<ConnectionFaults(std::uint64_t connection)>;

  explicit FaultProxy(int server_port, std::uint64_t seed = 1);
  ~FaultProxy();
  FaultProxy(const FaultProxy&) = delete;
  FaultProxy& operator=(const FaultProxy&) = delete;

  int port() const { return port_; }

  /// For connections there are, and those to come; all counts begin anew. Holds as it returns.
  void set(const ConnectionFaults& faults);
  void set(Choose choose);
  /// Nothing is wrong any more.
  void heal() { set(ConnectionFaults{}); }
  /// All connections that there are end with a reset.
  void reset_all();
  /// Connections to come are passed on to this port.
  void forward_to(int server_port);

  struct Stats {
    std::uint64_t connections = 0;  ///< that came
    std::uint64_t resets = 0;       ///< connections that the proxy reset
    std::size_t open = 0;           ///< now
    WayStats requests{};
    WayStats replies{};
  };
  Stats stats() const;

 private:
  class Link;

  void run();
  void wake();
  void accept_one();
  void drop_ended();

  const std::uint64_t seed_;
  int listener_ = -1;
  int port_ = 0;
  int bell_ = -1;

  mutable std::mutex mutex_;  ///< guards what follows; not held while the thread waits
  Choose choose_;
  int server_port_;
  bool ending_ = false;
  Stats of_ended_;
  std::vector<std::unique_ptr<Link>> links_;

  std::thread thread_;
};

}  // namespace weir::test
