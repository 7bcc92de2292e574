// A loop that outlives the lack of memory.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <new>
#include <thread>

#include "server/service.hpp"

namespace weir::server {

/// Runs the loop until it is stopped. Where memory runs out, the handler that wanted it is given
/// up, and with it the connection that it owned; resume() starts again what the loop cannot do
/// without, and the others never notice. However long the want lasts, what needs no memory goes on.
template <typename Resume>
void run_loop(boost::asio::io_context& io, WorkerMetrics& metrics, Log& log, Resume&& resume) {
  for (bool lost = false;;) {
    try {
      if (lost) {
        io.run_for(std::chrono::milliseconds(1));
        if (io.stopped()) return;
        resume();
      }
      lost = false;
      io.run();
      return;
    } catch (const std::bad_alloc&) {
      lost = true;
      metrics.out_of_memory.add(1);
      log.write(LogKind::out_of_memory,
                {{"lost", "what one connection was about"},
                 {"mend", "lower --max-memory or --max-connections, or give it more memory"}});
      // Should it last, this loop leaves the processor to those who may free some.
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

}  // namespace weir::server
