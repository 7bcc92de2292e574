// The server's snapshot: read at the start, written every so often and at the end.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "server/options.hpp"
#include "server/service.hpp"
#include "server/snapshot.hpp"
#include "server/start_error.hpp"

namespace weir::server {

/// Keeps the file that a server starts from. Without a path it does nothing.
///
/// Threads  read(), start() and finish() from one; it writes on a thread of its own
/// Errors   none: what fails is logged and counted, and the server goes on deciding
class SnapshotKeeper {
 public:
  SnapshotKeeper(Service& service, const SnapshotOptions& options);
  /// Stops; writes nothing more.
  ~SnapshotKeeper();
  SnapshotKeeper(const SnapshotKeeper&) = delete;
  SnapshotKeeper& operator=(const SnapshotKeeper&) = delete;

  /// Why no snapshot could ever be written there.
  static std::optional<StartError> cannot_write(const SnapshotOptions& options);

  /// Takes up what the last server left. A file that is refused is moved out of the way, to
  /// PATH.refused, for this server will write where it lies. To be called before there are clients.
  void read();

  void start();

  /// The last one. To be called when nothing is decided any more.
  void finish();

 private:
  void run();
  void stop();
  void write();
  Expected<SnapshotWritten, SnapshotError> try_to_write(Instant now);

  Service& service_;
  SnapshotOptions options_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace weir::server
