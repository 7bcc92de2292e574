// The nodes of a cluster, as calls find them.
#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "redis/backoff.hpp"
#include "redis/topology.hpp"
#include "wire/resp_request.hpp"

namespace weir::redis {
namespace {

SteadyInstant now() { return std::chrono::steady_clock::now(); }

Backoff::Settings pauses_of(const Access& access) {
  Backoff::Settings out{.longest_for = access.settings.longest_pause,
                        .seed = std::random_device{}()};
  out.first_for = std::min(out.first_for, out.longest_for);
  return out;
}

class ClusterTopology final : public Topology {
 public:
  ClusterTopology(Host& host, const Access& access)
      : host_(host),
        seeds_(access.url.nodes),
        cluster_({.seed = std::random_device{}()}),
        backoff_(pauses_of(access)) {
    wire::write_request(question_, {"CLUSTER", "SLOTS"});
  }

  Place place_of(std::uint16_t slot) override {
    if (const Node* const master = cluster_.slots().master_of(slot)) return place_of(*master);
    if (!cluster_.slots().nodes().empty()) {
      why_ = "slot " + std::to_string(slot) +
             " has no owner; redis-cli --cluster check tells of such, and fix mends them";
    }
    doubt();
    if (round_.empty() && !begins_) return {};
    return {.otherwise = Place::Else::wait};
  }

  /// Any node that the cluster, or a redirect of its nodes, has named.
  Place place_of(const Node& node) override {
    Connection* const at = connection_to(node);
    if (at == nullptr) why_ = "the cluster has more nodes than this client keeps";
    return {.at = at};
  }

  Next judge(std::string_view error, Cluster::Journey& journey, const Node& asked) override {
    const ErrorKind kind = kind_of(error);
    if (kind == ErrorKind::try_again) return {.what = Next::What::pause};
    // A node that cannot say where the slot is says MOVED too, and read_redirect() nothing.
    if (kind == ErrorKind::moved || kind == ErrorKind::cluster_down ||
        remedy_for(kind) == Remedy::find_master) {
      doubt();
    }
    const auto redirect = read_redirect(error);
    if (!redirect) return {};
    const auto stop = cluster_.follow(journey, *redirect, asked);
    host_.way_found();  // and the map is in doubt
    if (!stop) return {};
    return {.what = Next::What::follow, .stop = *stop};
  }

  void closed(Connection& at) override {
    why_ = at.why();
    doubt();
  }
  void opened(Connection& /*at*/) override {}
  void pushed(Connection& /*at*/, const wire::Reply& /*push*/) override {}

  SteadyInstant tick(SteadyInstant time) override {
    if (round_.empty() && time >= rest_until_ && cluster_.refresh(time)) begin_round();
    begins_ = false;
    if (!round_.empty()) return SteadyInstant::max();  // until there is an answer
    const auto at = cluster_.refresh_at();
    return at ? std::max(*at, rest_until_) : SteadyInstant::max();
  }

  std::string why() const override {
    return why_.empty() ? "the cluster's slots are not known yet" : why_;
  }

 private:
  /// Whoever is in doubt already has told when to be called: telling each time would be to spin.
  void doubt() {
    if (cluster_.refresh_at()) return;
    cluster_.doubt();
    host_.way_found();
  }

  /// Whom to ask for the map, one after the other: first those that are there already.
  void begin_round() {
    round_ = cluster_.slots().nodes();
    for (const Node& seed : seeds_) {
      if (std::ranges::find(round_, seed) == round_.end()) round_.push_back(seed);
    }
    // Not all clients ask the same node.
    const auto first = static_cast<std::ptrdiff_t>(std::random_device{}() % round_.size());
    std::rotate(round_.begin(), round_.begin() + first, round_.end());
    std::stable_partition(round_.begin(), round_.end(), [this](const Node& node) {
      const auto found = find(node);
      return found != nodes_.end() && (*found)->is_open();
    });
    std::ranges::reverse(round_);  // taken from the end
    ask_next();
  }

  void ask_next() {
    while (!round_.empty()) {
      const Node node = round_.back();
      Connection* const at = connection_to(node);
      if (at != nullptr && host_.question(*at, question_, [this, node](Pipeline::Ended&& ended) {
            hear(node, ended);
          })) {
        return;
      }
      if (at != nullptr) why_ = at->why();
      round_.pop_back();
    }
    rest_until_ = now() + backoff_.next();
    cluster_.doubt();
  }

  void hear(const Node& node, const Pipeline::Ended& ended) {
    std::string trouble = "no answer";
    if (ended.outcome == CallOutcome::answered) {
      trouble = learn(node, ended.reply);
    } else if (const auto at = find(node); at != nodes_.end() && !(*at)->why().empty()) {
      trouble = (*at)->why();
    }
    if (trouble.empty()) {
      round_.clear();
      backoff_.succeeded();
    } else {
      why_ = print(node) + ": " + trouble;
      round_.pop_back();
      ask_next();
    }
    host_.way_found();
  }

  /// What is wrong with the map; empty where nothing is.
  std::string learn(const Node& node, const wire::Reply& reply) {
    if (reply.type == wire::ReplyType::error) return in_one_line(reply.text);
    auto map = SlotMap::read(reply, node);
    if (!map) return map.error().message;
    // Of a node that the others have forgotten, say.
    if (map->owned() == 0) return "it knows of no slot that has an owner";
    cluster_.learn(std::move(map).value());
    let_go();
    return {};
  }

  /// Of the nodes that the map does not name; seeds may go by another name there.
  void let_go() {
    const std::vector<Node>& known = cluster_.slots().nodes();
    const auto gone = std::stable_partition(nodes_.begin(), nodes_.end(), [&](const auto& at) {
      return std::ranges::find(known, at->node()) != known.end();
    });
    std::for_each(gone, nodes_.end(), [this](auto& at) { host_.retire(std::move(at)); });
    nodes_.erase(gone, nodes_.end());
  }

  std::vector<std::unique_ptr<Connection>>::iterator find(const Node& node) {
    return std::ranges::find_if(nodes_, [&node](const auto& at) {
      return at->node().port == node.port && at->node().host == node.host;
    });
  }

  /// Null where there are too many already.
  Connection* connection_to(const Node& node) {
    const auto found = find(node);
    if (found != nodes_.end()) return found->get();
    if (nodes_.size() == SlotMap::most_nodes) return nullptr;
    nodes_.push_back(host_.connect(node, Guise::client));
    return nodes_.back().get();
  }

  Host& host_;
  std::vector<Node> seeds_;
  Cluster cluster_;
  Backoff backoff_;
  std::string question_;
  std::vector<std::unique_ptr<Connection>> nodes_;
  std::vector<Node> round_;  ///< who is asked for the map, the last one now; empty: nobody
  SteadyInstant rest_until_ = SteadyInstant::min();
  bool begins_ = true;
  std::string why_;
};

}  // namespace

std::unique_ptr<Topology> make_cluster_topology(Topology::Host& host, const Access& access) {
  return std::make_unique<ClusterTopology>(host, access);
}

}  // namespace weir::redis
