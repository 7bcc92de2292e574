#include "redis/loop_client.hpp"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <deque>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "redis/client_counters.hpp"
#include "redis/connection.hpp"
#include "redis/loop_alarm.hpp"
#include "redis/module_map.hpp"
#include "redis/slots.hpp"
#include "redis/store_reply.hpp"
#include "redis/topology.hpp"
#include "wire/resp_request.hpp"

namespace weir::redis {
namespace {

using CallId = Pipeline::CallId;
using Next = Topology::Next;

constexpr std::chrono::milliseconds pause_for{2};  ///< while a slot's keys are on their way
constexpr std::uint16_t one_for_all = 0;           ///< of one server alone each slot is the same
constexpr std::size_t kept_bytes = 4096;  ///< of a call's memory, for the next one in its place

SteadyInstant now() { return std::chrono::steady_clock::now(); }

Connection::Settings connection_settings(const Access& access) {
  const Client::Settings& settings = access.settings;
  Connection::Settings out;
  if (!access.url.nodes.empty()) out.node = access.url.nodes.front();
  out.path = access.url.path;
  out.tls = access.tls;
  out.handshake.user = access.url.user;
  out.handshake.password = access.password;
  out.handshake.client_name = settings.client_name;
  out.handshake.db = access.url.db;
  out.pipeline.calls = settings.calls_in_flight;
  out.pipeline.bytes = settings.unsent_bytes;
  out.connect_within = settings.connect_within;
  out.backoff.longest_for = settings.longest_pause;
  out.backoff.first_for = std::min(out.backoff.first_for, settings.longest_pause);
  return out;
}

/// One server alone: every call is its.
class OneServer final : public Topology {
 public:
  explicit OneServer(Host& host, const Access& access)
      : server_(host.connect(access.url.nodes.empty() ? Node{} : access.url.nodes.front(),
                             Guise::client)) {}

  Place place_of(std::uint16_t /*slot*/) override { return {.at = server_.get()}; }
  Place place_of(const Node& /*node*/) override { return {.at = server_.get()}; }
  Next judge(std::string_view /*error*/, Cluster::Journey& /*journey*/,
             const Node& /*asked*/) override {
    return {};
  }
  void closed(Connection& /*at*/) override {}
  void opened(Connection& /*at*/) override {}
  void pushed(Connection& /*at*/, const wire::Reply& /*push*/) override {}
  SteadyInstant tick(SteadyInstant /*now*/) override { return SteadyInstant::max(); }
  std::string why() const override { return {}; }

 private:
  std::unique_ptr<Connection> server_;
};

std::unique_ptr<Topology> make_topology(Topology::Host& host, const Access& access) {
  switch (access.url.kind) {
    case Url::Kind::sentinel: return make_sentinel_topology(host, access);
    case Url::Kind::cluster: return make_cluster_topology(host, access);
    case Url::Kind::single:
    case Url::Kind::unix_socket: break;
  }
  return std::make_unique<OneServer>(host, access);
}

bool may_be_redirected(const Access& access) {
  return access.url.kind == Url::Kind::sentinel || access.url.kind == Url::Kind::cluster;
}

}  // namespace

/// The calls, each in a place of its own whose number is its name in pipelines, and those of them
/// that wait for the way to be found.
class LoopClient::Body final : public Connection::Owner, public Topology::Host {
 public:
  Body(boost::asio::io_context& io, const Access& access)
      : io_(io),
        settings_(connection_settings(access)),
        keeps_bytes_(may_be_redirected(access)),
        has_slots_(access.url.kind == Url::Kind::cluster),
        alarm_(io.get_executor(), [this] { ring(); }),
        topology_(make_topology(*this, access)) {
    way_found();
  }

  ~Body() override {
    ending_ = true;
    alarm_.stop();
    topology_.reset();  // while there is somebody to be told
    retired_.clear();
    for (const CallId id : std::exchange(waiting_, {})) {
      end(id, CallOutcome::not_sent, "the client is being closed");
    }
  }
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  void ask(const FramedCall& asked, Then then) {
    counters.calls.add(1);
    if (ending_) return then(ended(CallOutcome::not_sent, "the client is being closed"));
    const CallId id = free_place();
    Call& call = calls_[id];
    call.then = std::move(then);
    call.slot = asked.slot;
    call.deadline_at = asked.deadline_at;
    if (keeps_bytes_) call.bytes = asked.bytes;
    send(id, asked.bytes, topology_->place_of(call.slot));
  }

  // ---- Connection::Owner ----

  void call_ended(Connection& at, Pipeline::Ended&& ended, std::string_view why) override {
    Call& call = calls_[ended.id];
    if (call.heard) {
      const Topology::Heard heard = std::move(call.heard);
      free(ended.id);
      if (!ending_) heard(std::move(ended));
    } else if (ended.outcome != CallOutcome::answered) {
      end(ended.id, ended.outcome, why);
    } else {
      hear(at, std::move(ended));
    }
    if (at.in_flight() == 0 && !retired_.empty()) way_found();
  }

  void opened(Connection& at) override {
    if (has_slots_) {
      modules_.connected(at.facts());
    } else if (at.facts().mode != ServerFacts::Mode::sentinel) {
      modules_.answered(one_for_all, at.facts());
    }
    topology_->opened(at);
  }
  void closed(Connection& at) override {
    topology_->closed(at);
    way_found();
  }
  void pushed(Connection& at, const wire::Reply& push) override {
    topology_->pushed(at, push);
    way_found();
  }

  // ---- Topology::Host ----

  std::unique_ptr<Connection> connect(const Node& node, Topology::Guise guise) override {
    Connection::Settings settings = settings_;
    settings.node = node;
    settings.backoff.seed = std::random_device{}();
    if (guise == Topology::Guise::asker) {
      settings.handshake = {.client_name = settings_.handshake.client_name};
    }
    return std::make_unique<Connection>(io_, std::move(settings), *this, counters);
  }

  void retire(std::unique_ptr<Connection> connection) override {
    if (!connection) return;
    retired_.push_back(std::move(connection));
    way_found();
  }

  bool question(Connection& at, std::string_view bytes, Topology::Heard heard) override {
    const CallId id = free_place();
    calls_[id].heard = std::move(heard);
    const Connection::Sent sent =
        at.send({.id = id, .bytes = bytes, .deadline_at = now() + settings_.connect_within});
    if (sent != Connection::Sent::queued) free(id);
    return sent == Connection::Sent::queued;
  }

  void way_found() override { alarm_.ring_by(now()); }

  bool has_slots() const noexcept { return has_slots_; }
  bool has_module(std::string_view route) const noexcept {
    return modules_.has_module(has_slots_ ? slot_of(route) : one_for_all);
  }

  ClientCounters counters;
  std::string framed;

 private:
  struct Call {
    Then then{};
    Topology::Heard heard{};  ///< of a question of the topology's, instead of `then`
    std::string bytes{};      ///< kept where it may be sent elsewhere
    std::uint16_t slot = 0;
    SteadyInstant deadline_at{};
    Cluster::Journey journey{};
    Cluster::Stop stop{};  ///< where it pauses before; its host is empty where it goes by its slot
    SteadyInstant pauses_until = SteadyInstant::min();
  };

  void send(CallId id, std::string_view bytes, const Topology::Place& place,
            std::uint32_t commands = 1) {
    if (place.at == nullptr) {
      if (place.otherwise == Topology::Place::Else::wait) return wait(id);
      return end(id, CallOutcome::not_sent, topology_->why());
    }
    const Connection::Sent sent = place.at->send(
        {.id = id, .bytes = bytes, .commands = commands, .deadline_at = calls_[id].deadline_at});
    if (sent == Connection::Sent::queued) return;
    end(id, CallOutcome::not_sent,
        sent == Connection::Sent::down ? place.at->why() : "too many calls are under way");
  }

  /// Once more, to where it is to go.
  void send_again(CallId id) {
    const Call& call = calls_[id];
    if (call.stop.node.host.empty()) {
      return send(id, call.bytes, topology_->place_of(call.slot));
    }
    const Topology::Place place = topology_->place_of(call.stop.node);
    if (!call.stop.asking) return send(id, call.bytes, place);
    framed.clear();
    wire::write_request(framed, {"ASKING"});
    framed += call.bytes;
    send(id, framed, place, 2);
  }

  void hear(Connection& at, Pipeline::Ended&& ended) {
    modules_.answered(has_slots_ ? calls_[ended.id].slot : one_for_all, at.facts());
    const bool refused = ended.reply.type == wire::ReplyType::error;
    if (refused && !ending_ && goes_on(at, ended.id, ended.reply.text)) return;
    take(ended.id)(to_store_reply(std::move(ended.reply)));
  }

  /// Whether a call that was answered with an error is on its way again.
  bool goes_on(Connection& at, CallId id, std::string_view error) {
    Call& call = calls_[id];
    const Next next = topology_->judge(error, call.journey, at.node());
    switch (next.what) {
      case Next::What::tell: return false;
      case Next::What::follow:
        counters.redirects.add(1);
        call.stop = next.stop;
        send_again(id);
        return true;
      case Next::What::pause:
        call.stop.node = at.node();
        call.pauses_until = now() + pause_for;
        wait(id);
        return true;
      case Next::What::search:
        call.stop = {};
        wait(id);
        way_found();  // it may be so already
        return true;
    }
    return false;
  }

  void wait(CallId id) {
    if (waiting_.size() >= settings_.pipeline.calls) {
      return end(id, CallOutcome::not_sent, "too many calls are under way");
    }
    stay(id);
  }

  void stay(CallId id) {
    waiting_.push_back(id);
    const Call& call = calls_[id];
    const bool pauses = call.pauses_until > now();
    alarm_.ring_by(pauses ? std::min(call.deadline_at, call.pauses_until) : call.deadline_at);
  }

  void ring() {
    const SteadyInstant time = now();
    std::erase_if(retired_, [](const auto& at) { return at->in_flight() == 0; });
    alarm_.ring_by(topology_->tick(time));
    for (const CallId id : std::exchange(waiting_, {})) {
      const Call& call = calls_[id];
      if (call.deadline_at <= time) {
        end(id, CallOutcome::not_sent, "no way by its deadline: " + topology_->why());
      } else if (call.pauses_until > time) {
        stay(id);
      } else {
        send_again(id);
      }
    }
  }

  StoreReply ended(CallOutcome outcome, std::string_view why) {
    return {.outcome = outcome, .text = std::string(why)};
  }

  void end(CallId id, CallOutcome outcome, std::string_view why) { take(id)(ended(outcome, why)); }

  CallId free_place() {
    if (free_.empty()) {
      calls_.emplace_back();
      return calls_.size() - 1;
    }
    const CallId id = free_.back();
    free_.pop_back();
    return id;
  }

  void free(CallId id) {
    Call& call = calls_[id];
    std::string bytes = std::move(call.bytes);
    bytes.clear();
    if (bytes.capacity() > kept_bytes) bytes.shrink_to_fit();
    call = {};
    call.bytes = std::move(bytes);
    free_.push_back(id);
  }

  Then take(CallId id) {
    Then then = std::move(calls_[id].then);
    free(id);
    return then;
  }

  boost::asio::io_context& io_;
  const Connection::Settings settings_;
  const bool keeps_bytes_;
  const bool has_slots_;
  ModuleMap modules_;
  bool ending_ = false;
  std::deque<Call> calls_;       ///< which stay where they are while it grows
  std::vector<CallId> free_;     ///< places in calls_
  std::vector<CallId> waiting_;  ///< for the way, or a moment
  std::vector<std::unique_ptr<Connection>> retired_;
  LoopAlarm alarm_;
  std::unique_ptr<Topology> topology_;
};

LoopClient::LoopClient(boost::asio::io_context& io, const Access& access)
    : body_(std::make_unique<Body>(io, access)) {}

LoopClient::~LoopClient() = default;

void LoopClient::ask(const StoreCall& call, Then then) {
  body_->framed.clear();
  wire::write_request(body_->framed, call.words);
  ask({.bytes = body_->framed, .slot = slot_of(call.route), .deadline_at = call.deadline_at},
      std::move(then));
}

bool LoopClient::has_slots() const noexcept { return body_->has_slots(); }

bool LoopClient::has_module(std::string_view route) const noexcept {
  return body_->has_module(route);
}

void LoopClient::ask(const FramedCall& call, Then then) { body_->ask(call, std::move(then)); }

Client::Stats LoopClient::stats() const {
  const ClientCounters& counters = body_->counters;
  return {.calls = counters.calls.read(),
          .connections = counters.connections.read(),
          .failed_attempts = counters.failed_attempts.read(),
          .redirects = counters.redirects.read(),
          .late_replies = counters.late_replies.read(),
          .connected_nodes = counters.connected_nodes.read()};
}

}  // namespace weir::redis
