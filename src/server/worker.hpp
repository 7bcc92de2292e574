// One thread and the connections that it serves.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "server/client_addresses.hpp"
#include "server/commands.hpp"
#include "server/dialogue.hpp"
#include "server/gateway/decider.hpp"
#include "server/options.hpp"
#include "server/speaks.hpp"
#include "server/tls.hpp"
#include "server/worker_stores.hpp"
#include "server/worker_thread.hpp"

namespace weir::server {

/// On the worker's own loop by type, which spares every operation a type-erased executor.
using Socket = boost::asio::basic_stream_socket<boost::asio::generic::stream_protocol,
                                                boost::asio::io_context::executor_type>;

/// A connection that no loop has taken on yet: its descriptor is owned.
struct Arrival {
  boost::asio::generic::stream_protocol protocol;
  int descriptor;
  std::string peer;
  TlsContext tls{};  ///< null where the client speaks plainly
  ClientAddresses::Seat seat{};
  Speaks speaks = Speaks::resp;
};

class Session;

/// A worker owns an event loop; everything of its sessions happens on that loop's thread.
///
/// Threads  run() on one; adopt() on one other; drain(), tick(), stop() from any
class Worker final : public WorkerThread {
 public:
  Worker(Service& service, const ConnectionLimits& limits);
  ~Worker() override;

  /// What the rules in force say; used on the worker's thread, or while that does nothing.
  Decider& decider() noexcept { return decider_; }

  /// How connections are answered that speak so. Before run(); without, they are closed.
  void speak(Speaks what, DialogueMaker maker);

  /// What decisions are asked with on this thread.
  WorkerContext context() noexcept { return {service_, metrics_, hot_keys_}; }
  RuleCache& rules() noexcept { return rules_; }

  bool here() override { return io_.get_executor().running_in_this_thread(); }
  void post(std::function<void()> action) override;

  /// Calls to the store go over this loop. Before run().
  void share(WorkerStores& stores);

  /// Serves until stop().
  void run();
  void stop();

  /// Serves one more connection. From one thread, the one that accepts.
  void adopt(Arrival arrival);

  /// Answers what has arrived, then closes every connection.
  void drain();

  /// Once a second: cuts off clients that neither send nor take.
  void tick();
  /// Whether it came to the last tick, so that a watchdog sees a worker that hangs.
  bool keeps_up() const noexcept { return ticks_due_.load(std::memory_order_relaxed) == 0; }

  /// Connections, and those of them that only wait for the client to close.
  std::uint64_t open() const noexcept {
    return metrics_.open(Speaks::resp) + metrics_.open(Speaks::http) + metrics_.open(Speaks::grpc);
  }
  std::uint64_t lingering() const noexcept { return lingering_.load(std::memory_order_relaxed); }

 private:
  friend class Session;
  friend class RespSession;
  friend class DialogueSession;

  void begin(Arrival arrival);
  void count_closed(Speaks what) noexcept;
  std::unique_ptr<Session> make_session(Socket socket, Arrival& arrival);

  Service& service_;
  const ConnectionLimits& limits_;
  WorkerMetrics& metrics_;
  HotKeys& hot_keys_;
  RuleCache rules_;
  CommandContext context_;
  wire::RequestParser parser_;
  wire::RequestParser strangers_parser_;  ///< before the password
  wire::Arguments strangers_arguments_;
  wire::Arguments arguments_;
  /// Commands that are parsed, and whose states are on their way from memory, before they run.
  struct Ahead {
    wire::Arguments arguments;
    Call call;
    std::size_t end;  ///< of the command, in the input
  };
  std::array<Ahead, 16> ahead_;
  std::array<DialogueMaker, spoken> makers_;  ///< none for RESP
  std::unordered_set<Session*> sessions_;
  /// Those that only wait for answers from elsewhere.
  std::unordered_map<Session*, std::unique_ptr<Session>> waiting_;
  std::uint64_t seconds_ = 0;  ///< ticks so far
  std::atomic<std::uint64_t> ticks_due_{0};
  static constexpr std::uint64_t sampled_batch = 32;  ///< of so many, one is timed
  std::uint64_t batches_ = 0;                         ///< read and answered so far
  bool draining_ = false;
  std::function<void()> enter_ = [] {};  ///< what run() begins with
  std::atomic<std::uint64_t> lingering_{0};
  /// Only this thread works on its sockets; others post.
  boost::asio::io_context io_{BOOST_ASIO_CONCURRENCY_HINT_UNSAFE_IO};
  Decider decider_{context_, io_};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
};

}  // namespace weir::server
