// The doctor at real Redis servers, well kept and badly.
#include "cli/store_health.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "redis/scripts.hpp"
#include "test/redis/redis_connection.hpp"
#include "test/wire/redis_server.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;
using cli::AskedStore;
using cli::Finding;
using cli::Health;
using std::chrono::microseconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Extras = wire::RedisServer::Extras;

microseconds wall_clock() {
  return std::chrono::duration_cast<microseconds>(
      std::chrono::system_clock::now().time_since_epoch());
}

class Patient {
 public:
  explicit Patient(std::vector<std::string> arguments = {})
      : server_(Extras{.arguments = std::move(arguments)}),
        connection_(std::in_place, server_.port()) {
    store.ask = [this](const Words& words) -> Expected<wire::Reply, cli::NoAnswer> {
      return connection_->run(words);
    };
    store.now = wall_clock;
    store.url = "redis://here";
  }

  wire::Reply run(const Words& words) { return connection_->run(words); }
  void reconnect() { connection_.emplace(server_.port()); }
  int port() const { return server_.port(); }

  Finding on(const std::string& subject) const {
    for (const Finding& finding : cli::examine_store(store)) {
      if (finding.subject == subject) return finding;
    }
    return {Health::fail, subject, "nothing was said"};
  }

  AskedStore store;

 private:
  wire::RedisServer server_;
  std::optional<RedisConnection> connection_;
};

TEST(DoctorOfAStore, FindsNothingWrongWithOneThatIsReady) {
  Patient patient;
  patient.run({"FUNCTION", "LOAD", redis::function_library()});
  for (const Finding& finding : cli::examine_store(patient.store)) {
    EXPECT_EQ(finding.health, Health::ok) << finding.subject << ": " << finding.seen;
    EXPECT_THAT(finding.mend, IsEmpty());
  }
  EXPECT_THAT(patient.on("decisions").seen, HasSubstr("by FCALL"));
  EXPECT_THAT(patient.on("version").seen, HasSubstr("Redis "));
}

TEST(DoctorOfAStore, TellsWhoComesWithoutAPasswordHowToBringOne) {
  Patient patient;
  patient.run({"ACL", "SETUSER", "default", ">secret"});
  patient.reconnect();
  const std::vector<Finding> findings = cli::examine_store(patient.store);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].health, Health::fail);
  EXPECT_THAT(findings[0].seen, HasSubstr("NOAUTH"));
  EXPECT_THAT(findings[0].mend, HasSubstr("password-file"));
}

TEST(DoctorOfAStore, LeavesNothingThatStays) {
  Patient patient;
  cli::examine_store(patient.store);
  const wire::Reply keys = patient.run({"KEYS", "*"});
  for (const wire::Reply& key : keys.elements) {
    const std::int64_t left = patient.run({"PTTL", key.text}).integer;
    EXPECT_GE(left, 0) << key.text;
    EXPECT_LE(left, 2000) << key.text;
  }
}

TEST(DoctorOfAStore, TellsHowToLoadTheFunctions) {
  const Patient patient;
  const Finding finding = patient.on("functions");
  EXPECT_EQ(finding.health, Health::warn);
  EXPECT_EQ(finding.mend, "weir lua install redis://here");
  EXPECT_THAT(patient.on("decisions").seen, HasSubstr("by EVAL"));
}

TEST(DoctorOfAStore, FindsAnotherLibraryOfOurName) {
  Patient patient;
  patient.run({"FUNCTION", "LOAD",
               "#!lua name=weir_1\nredis.register_function('weir_1_take', function() end)"});
  EXPECT_EQ(patient.on("functions").health, Health::fail);
  EXPECT_EQ(patient.on("decisions").health, Health::ok);
}

TEST(DoctorOfAStore, FindsRightsThatAreMissingAndNoneWhereTheLineWasFollowed) {
  Patient patient;
  patient.run({"FUNCTION", "LOAD", redis::function_library()});
  const Words line{"ACL",    "SETUSER",   "default", "resetkeys", "~weir:*", "-@all",
                   "+fcall", "+evalsha",  "+eval",   "+time",     "+get",    "+set",
                   "+del",   "+getrange", "+strlen", "+pexpire",  "+acl",    "+setrange"};
  patient.run(line);
  EXPECT_EQ(patient.on("decisions").health, Health::ok);
  EXPECT_EQ(patient.on("INFO").health, Health::warn);
  for (const char* right : {"+time", "+get", "+set", "+del", "+getrange", "+setrange", "+strlen"}) {
    Words less = line;
    less.push_back(std::string("-") + (right + 1));
    patient.run(less);
    const Finding finding = patient.on("decisions");
    EXPECT_EQ(finding.health, Health::fail) << right;
    EXPECT_THAT(finding.mend, HasSubstr("ACL SETUSER")) << right;
  }
}

TEST(DoctorOfAStore, FindsThatKeysMayBeEvicted) {
  const Patient patient({"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"});
  const Finding finding = patient.on("eviction");
  EXPECT_EQ(finding.health, Health::warn);
  EXPECT_THAT(finding.seen, HasSubstr("allkeys-lru"));
  EXPECT_THAT(finding.mend, HasSubstr("noeviction"));
  EXPECT_EQ(Patient({"--maxmemory", "100mb"}).on("eviction").health, Health::ok);
}

TEST(DoctorOfAStore, FindsThatItIsFull) {
  const Patient patient({"--maxmemory", "1kb"});
  const Finding finding = patient.on("decisions");
  EXPECT_EQ(finding.health, Health::fail);
  EXPECT_THAT(finding.mend, HasSubstr("maxmemory"));
}

TEST(DoctorOfAStore, FindsAReplica) {
  const Patient master;
  const Patient patient({"--replicaof", "127.0.0.1 " + std::to_string(master.port())});
  EXPECT_EQ(patient.on("role").health, Health::fail);
  EXPECT_THAT(patient.on("role").seen, HasSubstr("127.0.0.1:" + std::to_string(master.port())));
  EXPECT_EQ(patient.on("decisions").health, Health::fail);
}

TEST(DoctorOfAStore, FindsAMasterThatWantsReplicas) {
  const Patient patient({"--min-replicas-to-write", "1"});
  EXPECT_THAT(patient.on("decisions").mend, HasSubstr("min-replicas-to-write"));
}

TEST(DoctorOfAStore, FindsThatAClusterIsToBeNamedAsOne) {
  Patient patient({"--cluster-enabled", "yes"});
  EXPECT_EQ(patient.on("kind").health, Health::fail);
  patient.store.reached = AskedStore::Reached::in_cluster;
  EXPECT_EQ(patient.on("kind").health, Health::ok);
  EXPECT_THAT(patient.on("decisions").mend, HasSubstr("CLUSTER INFO"));
  Patient single;
  single.store.reached = AskedStore::Reached::in_cluster;
  EXPECT_EQ(single.on("kind").health, Health::fail);
}

TEST(DoctorOfAStore, FindsAClockThatIsOffOrGoesBack) {
  Patient patient;
  patient.store.now = [] { return wall_clock() + 1h; };
  EXPECT_EQ(patient.on("clock").health, Health::warn);
  EXPECT_THAT(patient.on("clock").seen, HasSubstr("3600 s behind"));
  patient.store.now = [] { return wall_clock() - 1h; };
  EXPECT_THAT(patient.on("clock").seen, HasSubstr("3600 s ahead of"));
  patient.store.now = wall_clock;
  const auto ask = patient.store.ask;
  std::int64_t second = 1'750'000'000;
  patient.store.ask = [&](const Words& words) -> Expected<wire::Reply, cli::NoAnswer> {
    if (words.front() != "TIME") return ask(words);
    wire::Reply time = *ask(words);
    time.elements.at(0).text = std::to_string(second--);
    return time;
  };
  EXPECT_EQ(patient.on("clock").health, Health::fail);
  EXPECT_THAT(patient.on("clock").seen, HasSubstr("went back"));
}

TEST(DoctorOfAStore, SaysWhereItGetsNoAnswer) {
  Patient patient;
  patient.store.ask = [](const Words&) -> Expected<wire::Reply, cli::NoAnswer> {
    return cli::NoAnswer{"it closed the connection"};
  };
  EXPECT_THAT(patient.on("INFO").seen, HasSubstr("it closed the connection"));
  EXPECT_EQ(patient.on("decisions").health, Health::fail);
  EXPECT_EQ(patient.on("clock").health, Health::fail);
}

}  // namespace
}  // namespace weir::test
