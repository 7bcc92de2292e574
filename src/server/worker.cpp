#include "server/worker.hpp"

#include <boost/asio/post.hpp>
#include <utility>

#include "server/session.hpp"

namespace weir::server {

Worker::Worker(Service& service, const ConnectionLimits& limits)
    : service_(service),
      limits_(limits),
      metrics_(service.metrics.add_worker()),
      rules_(service.rules),
      context_{service, rules_, metrics_},
      parser_(limits.request),
      work_(io_.get_executor()) {}

Worker::~Worker() = default;

void Worker::run() { io_.run(); }

void Worker::stop() { io_.stop(); }

void Worker::adopt(Socket socket, std::string peer) {
  boost::asio::post(io_, [this, socket = std::move(socket), peer = std::move(peer)]() mutable {
    if (draining_) return;
    Session::start(std::make_unique<Session>(*this, std::move(socket), std::move(peer)));
  });
}

void Worker::drain() {
  boost::asio::post(io_, [this] {
    draining_ = true;
    for (Session* session : sessions_) session->interrupt();
  });
}

void Worker::tick() {
  boost::asio::post(io_, [this] {
    ++seconds_;
    for (Session* session : sessions_) session->tick();
  });
}

}  // namespace weir::server
