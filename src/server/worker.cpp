#include "server/worker.hpp"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "server/session.hpp"

namespace weir::server {

namespace {

/// What a client may send before the password: room for HELLO with AUTH and SETNAME.
wire::RequestLimits strangers_limits(const wire::RequestLimits& limits) {
  return {.inline_bytes = std::min<std::size_t>(limits.inline_bytes, 1024),
          .arguments = std::min<std::size_t>(limits.arguments, 7),
          .argument_bytes = std::min<std::size_t>(limits.argument_bytes, longest_password),
          .frame_bytes = std::min<std::size_t>(limits.frame_bytes, 4096)};
}

}  // namespace

Worker::Worker(Service& service, const ConnectionLimits& limits)
    : service_(service),
      limits_(limits),
      metrics_(service.metrics.add_worker()),
      hot_keys_(service.hot_keys.add_worker(service.clock.now())),
      rules_(service.rules),
      context_{service, rules_, metrics_, hot_keys_},
      parser_(limits.request),
      strangers_parser_(strangers_limits(limits.request)),
      work_(io_.get_executor()) {}

Worker::~Worker() = default;

void Worker::run() { io_.run(); }

void Worker::stop() { io_.stop(); }

void Worker::adopt(Arrival arrival) {
  // Counted here and not when its session begins: a burst of arrivals must see the cap, and the
  // choice of the next worker must see the burst.
  metrics_.opened.add(1);
  boost::asio::post(io_, [this, arrival = std::move(arrival)]() mutable {
    Socket socket(io_.get_executor());
    boost::system::error_code error;
    socket.assign(arrival.protocol, arrival.descriptor, error);
    if (error) ::close(arrival.descriptor);
    if (error || draining_) {
      metrics_.closed.add(1);
      return;
    }
    Session::start(std::make_unique<Session>(*this, std::move(socket), std::move(arrival)));
  });
}

void Worker::drain() {
  boost::asio::post(io_, [this] {
    draining_ = true;
    for (Session* session : sessions_) session->interrupt();
  });
}

void Worker::tick() {
  ticks_due_.fetch_add(1, std::memory_order_relaxed);
  boost::asio::post(io_, [this] {
    ticks_due_.fetch_sub(1, std::memory_order_relaxed);
    ++seconds_;
    hot_keys_.tick(service_.clock.now());
    for (Session* session : sessions_) session->tick();
  });
}

}  // namespace weir::server
