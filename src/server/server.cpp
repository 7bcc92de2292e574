#include "server/server.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <charconv>
#include <csignal>
#include <optional>
#include <thread>
#include <utility>

#include "server/notify.hpp"
#include "server/status_page.hpp"
#include "server/worker.hpp"

namespace weir::server {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

/// HOST:PORT, [V6]:PORT; a host name is looked up.
Expected<tcp::endpoint, StartError> read_endpoint(const std::string& text) {
  const StartError wrong{"'" + text +
                         "' is no address; expected HOST:PORT, such as 127.0.0.1:7379"};
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return wrong;
  std::string host = text.substr(0, colon);
  const std::string port = text.substr(colon + 1);
  if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  std::uint16_t number = 0;
  const auto [stop, fault] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (fault != std::errc{} || stop != port.data() + port.size()) return wrong;
  boost::asio::io_context io;
  tcp::resolver resolver(io);
  error_code error;
  const auto found = resolver.resolve(host, port, tcp::resolver::numeric_service, error);
  if (error || found.empty()) return StartError{"cannot find the address of '" + host + "'"};
  return found.begin()->endpoint();
}

std::string print(const tcp::endpoint& endpoint) {
  const std::string host = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? "[" + host + "]" : host) + ":" +
         std::to_string(endpoint.port());
}

Expected<tcp::acceptor, StartError> open_acceptor(boost::asio::io_context& io,
                                                  const std::string& text) {
  const auto endpoint = read_endpoint(text);
  if (!endpoint) return endpoint.error();
  tcp::acceptor acceptor(io);
  error_code error;
  acceptor.open(endpoint->protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(*endpoint, error);
  if (!error) acceptor.listen(1024, error);
  if (error == boost::asio::error::address_in_use) {
    return StartError{text + " is in use; stop what listens there or choose another port"};
  }
  if (error) return StartError{"cannot listen on " + text + ": " + error.message()};
  return acceptor;
}

}  // namespace

struct Server::State {
  State(const Options& wanted, Rules& rules)
      : options(wanted),
        service(rules, {.max_keys = wanted.max_keys}),
        metrics(service.metrics.add_worker()),
        acceptor(io),
        signals(io),
        second(io),
        pause(io),
        last_call(io) {
    for (std::size_t at = 0; at < std::max<std::size_t>(1, options.threads); ++at) {
      workers.push_back(std::make_unique<Worker>(service, options.limits));
    }
  }

  Options options;
  Supervisor supervisor = Supervisor::of_environment();
  Service service;
  WorkerMetrics& metrics;         ///< of the control loop
  boost::asio::io_context io{1};  ///< the control loop: accepts, watches, never decides
  tcp::acceptor acceptor;
  boost::asio::signal_set signals;
  boost::asio::steady_timer second;     ///< ticks
  boost::asio::steady_timer pause;      ///< after an accept that failed
  boost::asio::steady_timer last_call;  ///< while draining
  std::vector<std::unique_ptr<Worker>> workers;
  std::optional<StatusPage> status;
  std::chrono::steady_clock::time_point drain_until;
  std::chrono::steady_clock::time_point linger_until;  ///< once every reply is sent

  std::size_t open() const {
    std::size_t total = 0;
    for (const auto& worker : workers) total += worker->open();
    return total;
  }

  void accept() {
    Worker& next = **std::min_element(
        workers.begin(), workers.end(),
        [](const auto& left, const auto& right) { return left->open() < right->open(); });
    acceptor.async_accept([this, &next](error_code error, tcp::socket socket) {
      if (error == boost::asio::error::operation_aborted || service.draining) return;
      if (error) {
        // Out of descriptors, most likely: those who are connected are served meanwhile.
        pause.expires_after(std::chrono::milliseconds(100));
        pause.async_wait([this](error_code stopped) {
          if (!stopped) accept();
        });
        return;
      }
      if (open() >= options.limits.connections) {
        turn_away(socket);
      } else {
        error_code ignored;
        socket.set_option(tcp::no_delay(true), ignored);
        socket.set_option(boost::asio::socket_base::keep_alive(true), ignored);
        const tcp::endpoint peer = socket.remote_endpoint(ignored);
        next.adopt({peer.protocol(), socket.release(ignored), print(peer)});
      }
      accept();
    });
  }

  void turn_away(tcp::socket& socket) {
    metrics.wire_faults[static_cast<std::size_t>(WireFault::too_many_connections)].add(1);
    constexpr std::string_view full = "-ERR max number of clients reached\r\n";
    error_code ignored;
    socket.non_blocking(true, ignored);
    socket.write_some(boost::asio::buffer(full), ignored);
  }

  void tick() {
    second.expires_after(std::chrono::seconds(1));
    second.async_wait([this](error_code stopped) {
      if (stopped) return;
      service.clock.adjust();
      if (std::ranges::all_of(workers, [](const auto& worker) { return worker->keeps_up(); })) {
        supervisor.alive();
      }
      for (const auto& worker : workers) worker->tick();
      // All states are looked at once in two minutes, even when nobody asks.
      const std::size_t keys = service.table.stats().keys;
      service.table.sweep(service.clock.now(), std::clamp<std::size_t>(keys / 120, 256, 100'000));
      tick();
    });
  }

  void await_signal() {
    signals.async_wait([this](error_code error, int) {
      if (error) return;
      if (service.draining) return io.stop();  // asked twice: at once
      drain();
      await_signal();
    });
  }

  void drain() {
    spdlog::info("draining: {} connections", open());
    supervisor.stopping();
    service.draining = true;
    error_code ignored;
    acceptor.close(ignored);
    for (const auto& worker : workers) worker->drain();
    drain_until = std::chrono::steady_clock::now() + options.limits.drain;
    linger_until = drain_until;
    await_the_last();
  }

  /// Clients that are told of the end close soon; those who are idle may never notice.
  void await_the_last() {
    const auto now = std::chrono::steady_clock::now();
    std::size_t lingering = 0;
    for (const auto& worker : workers) lingering += worker->lingering();
    if (lingering < open()) {
      linger_until = drain_until;
    } else if (linger_until == drain_until) {
      linger_until = now + std::chrono::milliseconds(250);
    }
    if (open() == 0 || now >= std::min(drain_until, linger_until)) return io.stop();
    last_call.expires_after(std::chrono::milliseconds(5));
    last_call.async_wait([this](error_code stopped) {
      if (!stopped) await_the_last();
    });
  }
};

Server::Server(const Options& options, Rules& rules)
    : state_(std::make_unique<State>(options, rules)) {}
Server::~Server() = default;

Expected<std::vector<Server::Listening>, StartError> Server::listen() {
  std::vector<Listening> listening;
  auto resp = open_acceptor(state_->io, state_->options.resp);
  if (!resp) return resp.error();
  state_->acceptor = std::move(resp).value();
  listening.push_back({"resp", print(state_->acceptor.local_endpoint())});
  if (state_->options.metrics != "off") {
    auto metrics = open_acceptor(state_->io, state_->options.metrics);
    if (!metrics) return metrics.error();
    tcp::acceptor acceptor = std::move(metrics).value();
    listening.push_back({"metrics", print(acceptor.local_endpoint())});
    state_->status.emplace(state_->service, std::move(acceptor));
  }
  // From here on a signal drains, even when it comes before run().
  state_->signals.add(SIGTERM);
  state_->signals.add(SIGINT);
  return listening;
}

void Server::run() {
  State& state = *state_;
  std::vector<std::thread> threads;
  for (const auto& worker : state.workers) threads.emplace_back([&worker] { worker->run(); });
  state.await_signal();
  state.tick();
  state.accept();
  if (state.status) state.status->start();
  state.supervisor.ready();
  state.io.run();
  const std::size_t cut_off = state.open();
  for (const auto& worker : state.workers) worker->stop();
  for (std::thread& thread : threads) thread.join();
  spdlog::info("stopped; {} connections cut off", cut_off);
}

}  // namespace weir::server
