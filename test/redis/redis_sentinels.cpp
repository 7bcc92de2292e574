#include "test/redis/redis_sentinels.hpp"

#include <algorithm>
#include <string_view>

#include "test/redis/await.hpp"

namespace weir::test {
namespace {

std::string role_of(const wire::RedisServer& server) {
  return RedisConnection(server.port()).must({"ROLE"}).elements.at(0).text;
}

}  // namespace

RedisSentinels::RedisSentinels(const Settings& settings) {
  for (int i = 0; i <= settings.replicas; ++i) {
    wire::RedisServer::Extras extras;
    extras.arguments = settings.arguments;
    // Or else a full copy begins after five seconds.
    extras.arguments.insert(extras.arguments.end(), {"--repl-diskless-sync-delay", "0"});
    if (i > 0) {
      extras.arguments.insert(extras.arguments.end(),
                              {"--replicaof", "127.0.0.1 " + std::to_string(server(0).port())});
    }
    servers_.push_back(std::make_unique<wire::RedisServer>(extras));
  }
  await("the replicas follow", [this] {
    const auto replication = RedisConnection(server(0).port()).must({"INFO", "replication"});
    std::size_t online = 0;
    for (std::size_t at = 0; (at = replication.text.find("state=online", at)) != std::string::npos;
         ++at) {
      ++online;
    }
    return online + 1 == servers_.size();
  });
  const std::string port = std::to_string(server(0).port());
  for (int i = 0; i < sentinels; ++i) {
    wire::RedisServer::Extras extras;
    extras.arguments = {"--sentinel"};
    const auto line = [&](const std::string& verb, const std::string& value) {
      extras.config.append("sentinel ").append(verb).append(" ").append(service);
      extras.config.append(" ").append(value).append("\n");
    };
    line("monitor", "127.0.0.1 " + port + " 2");
    line("down-after-milliseconds", std::to_string(settings.down_after.count()));
    line("failover-timeout", "2000");
    extras.ready_text = "+monitor";
    watchers_.push_back(std::make_unique<wire::RedisServer>(extras));
  }
  await("the Sentinels know each other and the replicas", [this] { return sentinels_know_all(); });
}

bool RedisSentinels::sentinels_know_all() {
  return std::all_of(watchers_.begin(), watchers_.end(), [this](const auto& watcher) {
    const auto seen = RedisConnection(watcher->port()).must({"SENTINEL", "MASTER", service});
    const auto* const others = seen.field("num-other-sentinels");
    const auto* const replicas = seen.field("num-slaves");
    return others && others->text == std::to_string(sentinels - 1) && replicas &&
           replicas->text == std::to_string(size() - 1);
  });
}

int RedisSentinels::number_of(const std::string& port) const {
  const auto found = std::find_if(servers_.begin(), servers_.end(), [&](const auto& server) {
    return std::to_string(server->port()) == port;
  });
  return found == servers_.end() ? -1 : static_cast<int>(found - servers_.begin());
}

int RedisSentinels::master() {
  int agreed = -1;
  for (const auto& watcher : watchers_) {
    if (!watcher->answers()) continue;
    const auto told =
        RedisConnection(watcher->port()).run({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", service});
    if (told.elements.size() != 2) return -1;
    const int number = number_of(told.elements[1].text);
    if (number < 0 || (agreed >= 0 && agreed != number)) return -1;
    agreed = number;
  }
  if (agreed < 0 || !server(agreed).answers() || role_of(server(agreed)) != "master") return -1;
  return agreed;
}

int RedisSentinels::await_master_after(int former) {
  int found = -1;
  await("the Sentinels have found another master", [&] {
    found = master();
    return found >= 0 && found != former;
  });
  return found;
}

void RedisSentinels::await_standing() {
  await("all servers are the master or follow it", [this] {
    const int leader = master();
    if (leader < 0) return false;
    return std::all_of(servers_.begin(), servers_.end(), [&](const auto& each) {
      if (!each->answers() || each->port() == server(leader).port()) return true;
      const auto role = RedisConnection(each->port()).must({"ROLE"});
      return role.elements.size() == 5 && role.elements[2].integer == server(leader).port() &&
             role.elements[3].text == "connected";
    });
  });
}

int RedisSentinels::fail_over() {
  const int former = master();
  await("a Sentinel begins the failover", [this] {
    // It refuses while it does not know of a replica that could follow.
    return RedisConnection(sentinel(0).port()).run({"SENTINEL", "FAILOVER", service}).text == "OK";
  });
  return await_master_after(former);
}

}  // namespace weir::test
