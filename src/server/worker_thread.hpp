// The thread that a connection's work is done on, as others see it.
#pragma once

#include <functional>

namespace weir::server {

/// Threads  any
class WorkerThread {
 public:
  WorkerThread() = default;
  virtual ~WorkerThread() = default;
  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;

  /// Whether this is it.
  virtual bool here() = 0;
  /// Has the action run there, soon.
  virtual void post(std::function<void()> action) = 0;
};

}  // namespace weir::server
