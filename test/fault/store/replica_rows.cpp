// A master that is cut off from its replica, and then from its callers. What stands between is the
// fault proxy, since a network of its own wants root.
#include <string>

#include "test/fault/fault_proxy.hpp"
#include "test/fault/store/rows.hpp"
#include "test/redis/await.hpp"
#include "test/redis/redis_connection.hpp"
#include "test/wire/redis_server.hpp"

namespace weir::test {
namespace {

/// A master, a replica behind a proxy, and a proxy for the callers of either.
struct Pair {
  wire::RedisServer master{};
  FaultProxy to_replica{master.port()};
  wire::RedisServer replica{
      {.arguments = {"--replicaof", "127.0.0.1 " + std::to_string(to_replica.port()),
                     "--repl-diskless-sync-delay", "0"}}};
  FaultProxy callers{master.port()};

  Pair() {
    await("the replica follows", [this] {
      const auto info = RedisConnection(replica.port()).must({"INFO", "replication"}).text;
      return info.find("master_link_status:up") != std::string::npos;
    });
  }

  void part() {
    ConnectionFaults silence;
    silence.requests.stalled = silence.replies.stalled = true;
    to_replica.set(silence);
  }

  void promote() { RedisConnection(replica.port()).must({"REPLICAOF", "NO", "ONE"}); }
};

std::int64_t charges_in(std::chrono::milliseconds time) {
  return charges_a_second * time.count() / 1000 + charges_a_second / 4;
}

Figures lost_acknowledgements(const Scale& scale) {
  Pair pair;
  Drill drill;
  drill.url = url_of(pair.callers.port());
  drill.load = load_of(scale, drill.url);
  drill.count_at = url_of(pair.replica.port());
  drill.fault = [&] { pair.part(); };
  drill.heal = [&] {
    pair.master.kill();
    pair.promote();
    pair.callers.forward_to(pair.replica.port());
    pair.callers.reset_all();
  };
  drill.lost_bound = charges_in(scale.fault);
  // What the replica has not heard of, a bucket at most; and a share while nobody answers.
  drill.excess_bound = Asked::bucket.burst;
  return run(scale, drill);
}

/// Half of the callers stay with the old master while the others charge the new one.
Figures two_masters(const Scale& scale) {
  Pair pair;
  FaultProxy others(pair.master.port());
  Drill drill;
  drill.url = url_of(pair.callers.port());
  drill.load = load_of(scale, drill.url);
  drill.load.threads = 2;
  Load::Settings elsewhere = load_of(scale, url_of(others.port()));
  elsewhere.threads = 2;
  elsewhere.first_client = 2;
  Load second(elsewhere);
  second.await_store(100);
  drill.fault = [&] {
    pair.part();
    pair.promote();
    others.forward_to(pair.replica.port());
    others.reset_all();
  };
  drill.heal = [&] {
    pair.callers.forward_to(pair.replica.port());
    pair.callers.reset_all();
  };
  const std::int64_t rate_in_all =
      Asked::bucket.count * std::chrono::duration_cast<std::chrono::seconds>(scale.fault).count() +
      Asked::bucket.count;
  drill.excess_bound = Asked::bucket.burst + rate_in_all;
  drill.look = [&](Figures& figures, const std::vector<Call>& calls, const Load&) {
    std::vector<Call> all = second.stop();
    all.insert(all.end(), calls.begin(), calls.end());
    judge_excess(figures, all);
  };
  return run(scale, drill);
}

}  // namespace

std::vector<Row> rows_of_replicas() {
  return {
      {"F9", "cut off from its replica, then killed: lost acknowledgements", lost_acknowledgements},
      {"F10", "two masters at once", two_masters},
  };
}

}  // namespace weir::test
