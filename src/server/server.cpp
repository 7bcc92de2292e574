#include "server/server.hpp"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "redis/secret_file.hpp"
#include "redis/trouble.hpp"
#include "server/control.hpp"
#include "server/event_loop.hpp"
#include "server/gateway/json_api.hpp"
#include "server/gateway/rules_in_force.hpp"
#include "server/gateway/worker_grpc.hpp"
#include "server/http/worker_http.hpp"
#include "server/listener.hpp"
#include "server/notify.hpp"
#include "server/open_files.hpp"
#include "server/snapshot_keeper.hpp"
#include "server/status_page.hpp"
#include "server/worker.hpp"

namespace weir::server {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

/// Of one worker to one node of the store: no fewer than its clients may have under way. Past them
/// the policy decides, as if the store were gone.
constexpr std::size_t calls_in_flight = 65'536;
constexpr std::size_t unsent_bytes = std::size_t{16} << 20;

/// The sender of a connection, where it has an address.
std::optional<tcp::endpoint> sender_of(const Listener::Socket& socket) {
  error_code error;
  const auto peer = socket.remote_endpoint(error);
  const int family = peer.protocol().family();
  if (error || (family != AF_INET && family != AF_INET6)) return {};
  tcp::endpoint endpoint;
  std::memcpy(endpoint.data(), peer.data(), peer.size());
  endpoint.resize(peer.size());
  return endpoint;
}

std::string print(const tcp::endpoint& endpoint) {
  return print(Address{.host = endpoint.address().to_string(), .port = endpoint.port()});
}

/// What a client hears in whose stead another is served.
std::string refusal(Speaks what, std::string_view why) {
  switch (what) {
    case Speaks::resp: return "-ERR " + std::string(why) + "\r\n";
    case Speaks::http:
      return "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Type: text/plain\r\n"
             "Retry-After: 1\r\nContent-Length: " +
             std::to_string(why.size() + 1) + "\r\n\r\n" + std::string(why) + "\n";
    case Speaks::grpc: return {};  // a client sees the end, and tries another server
  }
  return {};
}

/// One address, and what its clients speak.
struct Door {
  std::unique_ptr<Listener> listener;
  Speaks speaks;
};

}  // namespace

struct Server::State final : Control {
  State(const Options& wanted, Rules& known)
      : options(wanted),
        service(known, {.max_keys = wanted.max_keys, .max_bytes = wanted.max_memory}, wanted.log),
        snapshot(service, wanted.snapshot),
        metrics(service.metrics.add_worker()),
        tls(wanted.tls),
        signals(io),
        second(io),
        last_call(io),
        rules({service, workers}, wanted.rules) {
    service.key_bytes = wanted.limits.key_bytes;
    for (std::size_t at = 0; at < std::max<std::size_t>(1, options.threads); ++at) {
      Worker& worker = *workers.emplace_back(std::make_unique<Worker>(service, options.limits));
      http.push_back(std::make_unique<WorkerHttp>(
          worker, WorkerHttp::Of{.limits = options.limits.http, .control = *this}));
      worker.speak(Speaks::http, http.back()->maker());
      grpc.push_back(std::make_unique<WorkerGrpc>(worker, health));
      worker.speak(Speaks::grpc, grpc.back()->maker());
      add_json_api(http.back()->router(), grpc.back()->services(), worker.decider());
    }
  }

  Options options;
  Supervisor supervisor = Supervisor::of_environment();
  Service service;
  SnapshotKeeper snapshot;
  WorkerMetrics& metrics;         ///< of the control loop
  boost::asio::io_context io{1};  ///< the control loop: accepts, watches, never decides
  ClientAddresses addresses;      ///< outlives the workers' connections
  TlsFiles tls;
  std::vector<Door> doors;
  boost::asio::signal_set signals;
  bool listens = false;                           ///< to signals
  boost::asio::steady_timer second;               ///< to the next tick
  bool ticks = false;                             ///< the second is running
  boost::asio::steady_timer last_call;            ///< while draining
  std::vector<std::unique_ptr<WorkerHttp>> http;  ///< of each worker; outlives its connections
  grpc::Health health;
  std::vector<std::unique_ptr<WorkerGrpc>> grpc;  ///< as http
  std::vector<std::unique_ptr<Worker>> workers;
  RulesInForce rules;
  std::optional<WorkerStores> stores;
  std::optional<redis::RemoteTable> store;
  std::optional<StatusPage> status;
  std::chrono::steady_clock::time_point drain_until;
  std::chrono::steady_clock::time_point linger_until;  ///< once every reply is sent

  std::optional<StartError> open_door(const std::string& text, Speaks speaks) {
    const auto address = read_address(text);
    if (!address) {
      return StartError{"--" + std::string(name(speaks)) + ": " + address.error().message};
    }
    if (address->kind == Address::Kind::tls && !tls.context()) {
      return StartError{text + " needs --tls-cert FILE and --tls-key FILE"};
    }
    auto listener = Listener::open(io, *address);
    if (!listener) return listener.error();
    doors.push_back({std::move(listener).value(), speaks});
    return {};
  }

  std::size_t open() const {
    std::size_t total = 0;
    for (const auto& worker : workers) total += worker->open();
    return total;
  }

  void accept(const Door& door) {
    const Speaks speaks = door.speaks;
    door.listener->start(
        {.arrived = [this, speaks](Listener& by,
                                   auto socket) { arrived(by, std::move(socket), speaks); },
         .failed = [this](const error_code& error) { not_accepted(error); }});
  }

  void arrived(const Listener& listener, Listener::Socket socket, Speaks speaks) {
    const auto turned_away = [&](std::string_view why) {
      // A TLS client only sees the end: it is not worth a handshake.
      const bool plain = listener.address().kind != Address::Kind::tls;
      turn_away(socket, why, plain ? refusal(speaks, why) : std::string{});
      metrics.gave_up(WireFault::too_many_connections, speaks);
    };
    if (open() >= options.limits.connections) {
      metrics.hit(LimitHit::connections);
      return turned_away("max number of clients reached");
    }
    error_code ignored;
    Arrival arrival{socket.local_endpoint(ignored).protocol(), -1, print(listener.address())};
    arrival.speaks = speaks;
    if (listener.address().kind != Address::Kind::unix_socket) {
      const auto sender = sender_of(socket);
      if (!sender) return;  // it is gone already
      auto seat = addresses.admit(sender->address(), options.limits.connections_per_address);
      if (!seat) {
        metrics.hit(LimitHit::connections_per_address);
        return turned_away("max number of clients from one address reached");
      }
      arrival.seat = std::move(*seat);
      arrival.peer = print(*sender);
      socket.set_option(tcp::no_delay(true), ignored);
      socket.set_option(boost::asio::socket_base::keep_alive(true), ignored);
    }
    if (listener.address().kind == Address::Kind::tls) arrival.tls = tls.context();
    Worker& next = **std::min_element(
        workers.begin(), workers.end(),
        [](const auto& left, const auto& right) { return left->open() < right->open(); });
    arrival.descriptor = socket.release(ignored);
    next.adopt(std::move(arrival));
  }

  void turn_away(Listener::Socket& socket, std::string_view why, const std::string& reply) {
    const auto sender = sender_of(socket);
    service.log.write(LogKind::turned_away,
                      {{"client", sender ? print(*sender) : "unix"}, {"reason", why}});
    error_code ignored;
    socket.non_blocking(true, ignored);
    socket.write_some(boost::asio::buffer(reply), ignored);
  }

  /// Out of descriptors, most likely.
  void not_accepted(const error_code& error) {
    metrics.accept_failures.add(1);
    service.log.write(
        LogKind::accept_failed,
        {{"reason", error.message()},
         {"mend", error == boost::asio::error::no_memory
                      ? "lower --max-memory or --max-connections, or give it more memory"
                      : "raise ulimit -n or lower --max-connections"}});
  }

  std::optional<StartError> read_secret(const std::string& path, Password& known) {
    auto file = redis::read_secret(path);
    if (!file) return StartError{file.error().message};
    if (file->world_readable) {
      service.log.write(LogKind::readable_secret, {{"file", path}, {"mend", "chmod 640"}});
    }
    known.set(file->secret);
    return {};
  }
  std::optional<StartError> read_password() {
    return read_secret(options.password_file, service.password);
  }
  std::optional<StartError> read_admin_token() {
    return read_secret(options.admin_token_file, service.admin_token);
  }

  std::optional<StartError> share_states() {
    redis::Client::Settings settings;
    settings.client_name = "weir serve";
    settings.calls_in_flight = calls_in_flight;
    settings.unsent_bytes = unsent_bytes;
    settings.tls_ca = options.store.tls_ca;
    settings.tls_certificate = options.store.tls_certificate;
    settings.tls_key = options.store.tls_key;
    auto access = redis::read_access(options.store.url, settings);
    if (!access) return StartError{"--store: " + access.error().message};
    stores.emplace(std::move(access).value());
    for (const auto& worker : workers) worker->share(*stores);
    store.emplace(*stores, options.store.policy);
    service.store = &*store;
    service.metrics.store_link = [this] {
      const redis::Client::Stats stats = stores->stats();
      return StoreLink{.answers = service.store_health.answers(),
                       .circuit = name(store->circuit()),
                       .connections = stats.connections,
                       .failed_attempts = stats.failed_attempts,
                       .redirects = stats.redirects,
                       .late_replies = stats.late_replies,
                       .connected_nodes = stats.connected_nodes};
    };
    service.needs_store = options.store.policy.without_store == redis::WithoutStore::closed;
    return {};
  }

  /// Asks a store that does not answer whether it does again: nobody else may, where a load
  /// balancer sends nothing to a server that is not ready.
  void look_for_store() {
    if (!store || service.store_health.answers()) return;
    constexpr std::string_view words[] = {"PING"};
    stores->ask({.words = words,
                 .route = {},
                 .deadline_at = std::chrono::steady_clock::now() + std::chrono::milliseconds(500)},
                [&health = service.store_health](redis::StoreReply&& reply) {
                  const redis::Trouble trouble = redis::trouble_of(reply);
                  if (trouble.kind == redis::TroubleKind::none) return health.answered();
                  health.failed(trouble);
                });
  }

  void note_reload(Reloaded what, const std::optional<StartError>& error) {
    const auto at = static_cast<std::size_t>(what);
    (error ? metrics.failed_reloads : metrics.reloads)[at].add(1);
    service.outdated[at] = error.has_value();
    if (error) {
      service.log.write(LogKind::reload_failed, {{"kept", name(what)}, {"reason", error->message}});
    } else {
      service.log.write(LogKind::reloaded, {{"what", name(what)}});
    }
  }

  /// At SIGHUP, and when an operator asks for it.
  ReloadReport reload_all() {
    supervisor.reloading();
    ReloadReport report;
    const auto note = [&](Reloaded what, const std::optional<StartError>& error) {
      note_reload(what, error);
      if (error) {
        report.kept.push_back(std::string(name(what)) + ": " + error->message);
      } else {
        report.reloaded.emplace_back(name(what));
      }
    };
    if (!options.tls.certificate.empty()) note(Reloaded::tls, tls.load());
    if (!options.password_file.empty()) note(Reloaded::password, read_password());
    if (!options.admin_token_file.empty()) note(Reloaded::admin_token, read_admin_token());
    if (rules.has_sources()) note(Reloaded::rules, rules.load());
    report.generation = rules.generation();
    supervisor.ready();
    return report;
  }

  void reload(std::function<void(ReloadReport&&)> then) override {
    boost::asio::post(io, [this, then = std::move(then)] { then(reload_all()); });
  }

  void override_key(OverrideWish wish, std::function<void(OverrideReport&&)> then) override {
    boost::asio::post(io, [this, wish = std::move(wish), then = std::move(then)]() mutable {
      then(rules.override_key(std::move(wish)));
    });
  }

  void list_overrides(std::function<void(std::vector<LaidOverride>&&)> then) override {
    boost::asio::post(
        io, [this, then = std::move(then)] { then(std::vector<LaidOverride>(rules.overrides())); });
  }

  /// Waits in the memory of the wait before, so that a second that finds none is not the last.
  void tick() {
    second.expires_after(std::chrono::seconds(1));
    second.async_wait([this](error_code stopped) {
      if (stopped) return;
      ticks = false;
      tick();
      service.clock.adjust();
      service.log.tell_suppressed();
      look_for_store();
      if (std::ranges::all_of(workers, [](const auto& worker) { return worker->keeps_up(); })) {
        supervisor.alive();
      }
      for (const auto& worker : workers) worker->tick();
      if (tls.context() && tls.changed()) note_reload(Reloaded::tls, tls.load());
      if (rules.changed()) note_reload(Reloaded::rules, rules.load());
      rules.end_overrides();
      // All states are looked at once in two minutes, even when nobody asks.
      const std::size_t keys = service.table.stats().keys;
      service.table.sweep(service.clock.now(), std::clamp<std::size_t>(keys / 120, 256, 100'000));
    });
    ticks = true;
  }

  /// As tick() waits.
  void await_signal() {
    signals.async_wait([this](error_code error, int signal) {
      if (error) return;
      listens = false;
      await_signal();
      if (signal == SIGHUP) {
        reload_all();
        return;
      }
      if (service.draining) return io.stop();  // asked twice: at once
      drain();
    });
    listens = true;
  }

  /// After the loop ran out of memory: whatever it lost begins again, and the rest is as it was.
  void resume() {
    if (service.draining) await_the_last();
    if (!listens) await_signal();
    if (!ticks) tick();
    for (const Door& door : doors) door.listener->resume();
    if (status) status->start();
  }

  /// Of the server as a whole, and of the service that proxies ask by its name.
  /// Without memory for it who watches learns of the end by GOAWAY.
  void tell_health(grpc::Health::Serving serving) noexcept {
    try {
      health.set("", serving);
      health.set(std::string(grpc::rate_limit_service), serving);
    } catch (const std::bad_alloc&) {
      service.log.write(LogKind::out_of_memory,
                        {{"lost", "a change of health"}, {"mend", "lower --max-memory"}});
    }
  }

  void drain() {
    service.draining = true;
    drain_until = std::chrono::steady_clock::now() + options.limits.drain;
    linger_until = drain_until;
    service.log.write(LogKind::draining, {{"connections", static_cast<std::int64_t>(open())}});
    supervisor.stopping();
    for (const Door& door : doors) door.listener->close();
    tell_health(grpc::Health::Serving::not_serving);  // Before the watches end.
    for (const auto& worker : workers) worker->drain();
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
  const Options& options = state_->options;
  if (!options.tls.certificate.empty()) {
    if (auto error = state_->tls.load()) return *std::move(error);
  }
  if (!options.password_file.empty()) {
    if (auto error = state_->read_password()) return *std::move(error);
  }
  if (!options.admin_token_file.empty()) {
    if (auto error = state_->read_admin_token()) {
      return StartError{"--admin-token: " + error->message};
    }
  }
  if (!options.store.url.empty()) {
    if (auto error = state_->share_states()) return *std::move(error);
  }
  if (state_->rules.has_sources()) {
    if (auto error = state_->rules.load()) return *std::move(error);
    state_->service.metrics.write_rules_in_force = [&rules = state_->rules](std::string& text,
                                                                            OfRules what) {
      rules.write_metrics(text, what);
    };
  }
  if (auto error = SnapshotKeeper::cannot_write(options.snapshot)) return *std::move(error);
  for (const auto& [addresses, speaks] :
       {std::pair{&options.resp, Speaks::resp}, std::pair{&options.http, Speaks::http},
        std::pair{&options.grpc, Speaks::grpc}}) {
    for (const std::string& text : *addresses) {
      if (auto error = state_->open_door(text, speaks)) return *std::move(error);
    }
  }
  std::vector<Listening> listening;
  for (const Door& door : state_->doors) {
    listening.push_back({name(door.speaks), door.listener->address()});
  }
  if (options.metrics != "off") {
    const auto address = read_address(options.metrics);
    if (!address || address->kind != Address::Kind::tcp) {
      return StartError{"--metrics: '" + options.metrics +
                        "' is no address; expected HOST:PORT, such as 127.0.0.1:7390, or off"};
    }
    auto acceptor = listen_on(state_->io, *address);
    if (!acceptor) return acceptor.error();
    listening.push_back({"metrics", address_of(*acceptor, Address::Kind::tcp)});
    state_->status.emplace(state_->service, std::move(acceptor).value());
  }
  state_->options.limits.connections =
      make_room_for(options.limits.connections, state_->service.log);
  // From here on a signal drains, even when it comes before run().
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) state_->signals.add(signal);
  // OpenSSL writes to sockets whose other end may be gone.
  std::signal(SIGPIPE, SIG_IGN);
  // A log or a snapshot at the largest size of a file is a write that fails, no reason to end.
  std::signal(SIGXFSZ, SIG_IGN);
  return listening;
}

void Server::run() {
  State& state = *state_;
  state.snapshot.read();
  state.snapshot.start();
  std::vector<std::thread> threads;
  for (const auto& worker : state.workers) threads.emplace_back([&worker] { worker->run(); });
  state.rules.workers_begin();
  state.tell_health(grpc::Health::Serving::serving);
  state.await_signal();
  state.look_for_store();
  state.tick();
  for (const Door& door : state.doors) state.accept(door);
  if (state.status) state.status->start();
  state.supervisor.ready();
  run_loop(state.io, state.metrics, state.service.log, [&state] { state.resume(); });
  const std::size_t cut_off = state.open();
  state.rules.workers_end();
  for (const auto& worker : state.workers) worker->stop();
  for (std::thread& thread : threads) thread.join();
  state.snapshot.finish();
  state.service.log.tell_suppressed(std::chrono::seconds{0});
  state.service.log.write(LogKind::stopped, {{"cut_off", static_cast<std::int64_t>(cut_off)}});
}

}  // namespace weir::server
