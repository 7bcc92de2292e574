#include "server/parked.hpp"

#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace weir::server {

void while_parked(std::span<const std::unique_ptr<Worker>> workers,
                  const std::function<void()>& action) {
  struct Parking {
    std::mutex mutex;
    std::condition_variable changed;
    std::size_t parked = 0;
    bool over = false;
  };
  const auto parking = std::make_shared<Parking>();
  const auto end = [&parking] {
    const std::lock_guard lock(parking->mutex);
    parking->over = true;
    parking->changed.notify_all();
  };
  struct AtEnd {
    const std::function<void()> act;
    ~AtEnd() { act(); }
  } const at_end{end};
  for (const auto& worker : workers) {
    worker->post([parking] {
      std::unique_lock lock(parking->mutex);
      ++parking->parked;
      parking->changed.notify_all();
      parking->changed.wait(lock, [&] { return parking->over; });
    });
  }
  {
    std::unique_lock lock(parking->mutex);
    parking->changed.wait(lock, [&] { return parking->parked == workers.size(); });
  }
  action();
}

}  // namespace weir::server
