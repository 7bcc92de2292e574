// The master that sentinels watch over, as calls find it.
#include <algorithm>
#include <random>
#include <utility>

#include "redis/sentinel.hpp"
#include "redis/topology.hpp"
#include "wire/resp_request.hpp"

namespace weir::redis {
namespace {

constexpr std::uint8_t most_searches = 3;  ///< for one call

SteadyInstant now() { return std::chrono::steady_clock::now(); }

Sentinels::Settings settings_of(const Access& access) {
  Sentinels::Settings out{.nodes = access.url.nodes, .master = access.url.master};
  out.backoff.longest_for = access.settings.longest_pause;
  out.backoff.first_for = std::min(out.backoff.first_for, out.backoff.longest_for);
  out.backoff.seed = std::random_device{}();
  return out;
}

class SentinelTopology final : public Topology {
 public:
  SentinelTopology(Host& host, const Access& access)
      : host_(host), sentinels_(settings_of(access)), question_(sentinels_.address_question()) {
    wire::write_request(role_question_, {"ROLE"});
    // The confirmation is a push; the answer to PING stands for both.
    wire::write_request(subscription_, {"SUBSCRIBE", "+switch-master"});
    wire::write_request(subscription_, {"PING"});
  }

  Place place_of(std::uint16_t /*slot*/) override {
    if (sentinels_.master()) return {.at = master_.get()};
    return {.otherwise = asking_ ? Place::Else::wait : Place::Else::give_up};
  }

  Place place_of(const Node& /*node*/) override { return place_of(std::uint16_t{0}); }

  Next judge(std::string_view error, Cluster::Journey& journey, const Node& asked) override {
    if (remedy_for(kind_of(error)) != Remedy::find_master) return {};
    if (journey.redirects >= most_searches) return {};
    ++journey.redirects;
    if (sentinels_.master() == asked) {
      why_ = print(asked) + ": " + in_one_line(error);
      search();
    }
    return {.what = Next::What::search};
  }

  void closed(Connection& at) override {
    if (&at != master_.get() || sentinels_.master() != at.node()) return;
    why_ = at.why();
    search();
  }

  void opened(Connection& at) override {
    if (&at != sentinel_.get() || at.facts().protocol != ServerFacts::Protocol::resp3) return;
    host_.question(at, subscription_, [](Pipeline::Ended&&) {});
  }

  void pushed(Connection& at, const wire::Reply& push) override {
    if (&at != sentinel_.get() || push.elements.size() != 3) return;
    if (push.elements[1].text != "+switch-master") return;
    if (sentinels_.hear_switch(push.elements[2].text)) step();
  }

  SteadyInstant tick(SteadyInstant time) override {
    step();
    const Sentinels::Todo todo = sentinels_.next(time);
    return todo.action == Sentinels::Action::wait ? todo.until : SteadyInstant::max();
  }

  std::string why() const override {
    return why_.empty() ? "no sentinel has told of the master yet" : why_;
  }

 private:
  void search() {
    sentinels_.doubt();
    step();
  }

  /// Goes on until there is an answer to wait for, or nothing to do.
  void step() {
    while (true) {
      const Sentinels::Todo todo = sentinels_.next(now());
      asking_ = todo.action == Sentinels::Action::ask_address ||
                todo.action == Sentinels::Action::ask_role;
      if (!asking_ || asked_ == todo.node) return;
      const bool role = todo.action == Sentinels::Action::ask_role;
      Connection& at = connection_to(todo.node, role ? Guise::client : Guise::asker);
      const bool sent = host_.question(
          at, role ? role_question_ : question_,
          [this, node = todo.node, role](Pipeline::Ended&& ended) { hear(node, role, ended); });
      if (sent) {
        asked_ = todo.node;
        return;
      }
      failed(todo.node, at.why());
    }
  }

  void hear(const Node& node, bool role, const Pipeline::Ended& ended) {
    if (asked_ == node) asked_.reset();
    if (ended.outcome != CallOutcome::answered) {
      const Connection* const at = role ? master_.get() : sentinel_.get();
      failed(node, at->why().empty() ? print(node) + ": no answer" : at->why());
    } else if (role) {
      sentinels_.hear_role(node, ended.reply, now());
      const bool refused = ended.reply.type == wire::ReplyType::error;
      if (!sentinels_.master()) {
        why_ = print(node) + (refused ? ": " + in_one_line(ended.reply.text) : " is no master");
      }
    } else {
      sentinels_.hear_address(ended.reply, now());
      if (sentinels_.next(now()).action != Sentinels::Action::ask_role) {
        why_ = "sentinel " + print(node) + " knows no such master";
      }
    }
    step();
    host_.way_found();
  }

  void failed(const Node& node, const std::string& why) {
    why_ = why;
    sentinels_.failed(node, now());
  }

  /// One sentinel and one master at a time: those before are let go.
  Connection& connection_to(const Node& node, Guise guise) {
    auto& kept = guise == Guise::client ? master_ : sentinel_;
    if (!kept || kept->node() != node) {
      host_.retire(std::move(kept));
      kept = host_.connect(node, guise);
    }
    return *kept;
  }

  Host& host_;
  Sentinels sentinels_;
  std::string question_;
  std::string role_question_;
  std::string subscription_;
  std::unique_ptr<Connection> sentinel_;
  std::unique_ptr<Connection> master_;
  bool asking_ = true;
  std::optional<Node> asked_;  ///< whose answer is awaited
  std::string why_;
};

}  // namespace

std::unique_ptr<Topology> make_sentinel_topology(Topology::Host& host, const Access& access) {
  return std::make_unique<SentinelTopology>(host, access);
}

}  // namespace weir::redis
