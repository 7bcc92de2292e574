#include "server/worker.hpp"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <new>
#include <utility>

#include "redis/secret_file.hpp"
#include "server/dialogue_session.hpp"
#include "server/event_loop.hpp"
#include "server/resp_session.hpp"

namespace weir::server {

namespace {

/// What a client may send before the password: room for HELLO with AUTH and SETNAME.
wire::RequestLimits strangers_limits(const wire::RequestLimits& limits) {
  return {.inline_bytes = std::min<std::size_t>(limits.inline_bytes, 1024),
          .arguments = std::min<std::size_t>(limits.arguments, 7),
          .argument_bytes = std::min<std::size_t>(limits.argument_bytes, redis::longest_password),
          .frame_bytes = std::min<std::size_t>(limits.frame_bytes, 4096)};
}

}  // namespace

Worker::Worker(Service& service, const ConnectionLimits& limits)
    : service_(service),
      limits_(limits),
      metrics_(service.metrics.add_worker()),
      hot_keys_(service.hot_keys.add_worker(service.clock.now())),
      rules_(service.rules),
      context_{{{service, metrics_, hot_keys_}, rules_}},
      parser_(limits.request),
      strangers_parser_(strangers_limits(limits.request)),
      work_(io_.get_executor()) {}

Worker::~Worker() {
  waiting_.clear();  // their sockets need the loop, and they the set of sessions
}

void Worker::speak(Speaks what, DialogueMaker maker) {
  makers_[static_cast<std::size_t>(what)] = std::move(maker);
}

void Worker::share(WorkerStores& stores) { enter_ = stores.add(io_, metrics_); }

void Worker::run() {
  enter_();
  run_loop(io_, metrics_, service_.log, [] {});
}

void Worker::stop() { io_.stop(); }

void Worker::post(std::function<void()> action) { boost::asio::post(io_, std::move(action)); }

void Worker::adopt(Arrival arrival) {
  const int descriptor = arrival.descriptor;
  const auto speaks = static_cast<std::size_t>(arrival.speaks);
  try {
    boost::asio::post(
        io_, [this, arrival = std::move(arrival)]() mutable { begin(std::move(arrival)); });
  } catch (const std::bad_alloc&) {
    ::close(descriptor);
    throw;
  }
  // Counted here and not when its session begins: a burst of arrivals must see the cap, and the
  // choice of the next worker must see the burst.
  metrics_.opened[speaks].add(1);
}

void Worker::begin(Arrival arrival) {
  Session::Ptr session;
  int ours = arrival.descriptor;
  try {
    Socket socket(io_.get_executor());
    boost::system::error_code error;
    socket.assign(arrival.protocol, arrival.descriptor, error);
    if (!error) ours = -1;
    if (!error && !draining_) session = make_session(std::move(socket), arrival);
  } catch (const std::bad_alloc&) {
    if (ours >= 0) ::close(ours);
    if (arrival.descriptor >= 0) count_closed(arrival.speaks);  // else the session has counted it
    throw;
  }
  if (session) return Session::start(std::move(session));
  if (ours >= 0) ::close(ours);
  count_closed(arrival.speaks);
}

void Worker::count_closed(Speaks what) noexcept {
  metrics_.closed[static_cast<std::size_t>(what)].add(1);
}

/// Null where nobody here speaks so.
std::unique_ptr<Session> Worker::make_session(Socket socket, Arrival& arrival) {
  if (arrival.speaks == Speaks::resp) {
    return std::make_unique<RespSession>(*this, std::move(socket), arrival);
  }
  const DialogueMaker& maker = makers_[static_cast<std::size_t>(arrival.speaks)];
  if (!maker) return nullptr;
  return std::make_unique<DialogueSession>(*this, std::move(socket), arrival, maker);
}

void Worker::drain() {
  boost::asio::post(io_, [this] {
    draining_ = true;
    for (Session* session : sessions_) session->interrupt();
  });
}

void Worker::tick() {
  ticks_due_.fetch_add(1, std::memory_order_relaxed);
  try {
    boost::asio::post(io_, [this] {
      ticks_due_.fetch_sub(1, std::memory_order_relaxed);
      ++seconds_;
      hot_keys_.tick(service_.clock.now());
      for (Session* session : sessions_) session->tick();
    });
  } catch (const std::bad_alloc&) {
    ticks_due_.fetch_sub(1, std::memory_order_relaxed);
    throw;
  }
}

}  // namespace weir::server
