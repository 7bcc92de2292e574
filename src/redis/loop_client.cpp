#include "redis/loop_client.hpp"

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "redis/client_counters.hpp"
#include "redis/connection.hpp"
#include "redis/slots.hpp"
#include "redis/store_reply.hpp"
#include "wire/resp_request.hpp"

namespace weir::redis {
namespace {

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
  out.backoff.seed = std::random_device{}();
  return out;
}

StoreReply not_sent(std::string why) {
  return {.outcome = CallOutcome::not_sent, .text = std::move(why)};
}

}  // namespace

class LoopClient::Body final : public Connection::Owner {
 public:
  Body(boost::asio::io_context& io, const Access& access) {
    connection_.emplace(io, connection_settings(access), *this, counters);
  }
  ~Body() override { connection_.reset(); }  // while there is somebody to be told
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  void ask(const FramedCall& call, Then then) {
    counters.calls.add(1);
    const Pipeline::CallId id = keep(std::move(then));
    const Connection::Sent sent =
        connection_->send({.id = id, .bytes = call.bytes, .deadline_at = call.deadline_at});
    if (sent == Connection::Sent::queued) return;
    take(id)(not_sent(sent == Connection::Sent::down ? connection_->why()
                                                     : "too many calls are under way"));
  }

  void call_ended(Connection& /*at*/, Pipeline::Ended&& ended, std::string_view why) override {
    const Then then = take(ended.id);
    if (ended.outcome == CallOutcome::answered) {
      then(to_store_reply(std::move(ended.reply)));
    } else {
      then({.outcome = ended.outcome, .text = std::string(why)});
    }
  }
  void opened(Connection& /*at*/) override {}
  void closed(Connection& /*at*/) override {}

  ClientCounters counters;
  std::string framed;

 private:
  Pipeline::CallId keep(Then then) {
    if (free_.empty()) {
      calls_.push_back(std::move(then));
      return calls_.size() - 1;
    }
    const Pipeline::CallId id = free_.back();
    free_.pop_back();
    calls_[id] = std::move(then);
    return id;
  }

  Then take(Pipeline::CallId id) {
    free_.push_back(id);
    return std::exchange(calls_[id], nullptr);
  }

  std::vector<Then> calls_;
  std::vector<Pipeline::CallId> free_;  ///< places in calls_
  std::optional<Connection> connection_;
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
