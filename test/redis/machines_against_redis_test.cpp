// The machines and a real redis-server: what they take it to say is what it says.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "redis/cluster.hpp"
#include "redis/error_reply.hpp"
#include "redis/handshake.hpp"
#include "redis/pipeline.hpp"
#include "redis/slots.hpp"
#include "test/wire/redis_server.hpp"
#include "wire/resp_request.hpp"

namespace weir::redis {
namespace {

using Words = std::vector<std::string>;

std::string framed(const Words& words) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  std::string frame;
  wire::write_request(frame, views);
  return frame;
}

/// A client that asks and waits, by a pipeline.
class Client {
 public:
  explicit Client(const wire::RedisServer& server) : connection_(server.port()) {}

  /// The replies to framed calls of so many commands each, in their order; fewer where the server
  /// closes or says nothing.
  std::vector<wire::Reply> ask_framed(const std::vector<std::string>& calls,
                                      std::uint32_t commands = 1) {
    for (const std::string& call : calls) {
      EXPECT_TRUE(pipeline_.send({.id = next_id_++,
                                  .bytes = call,
                                  .commands = commands,
                                  .deadline_at = SteadyInstant::max()}));
    }
    std::string out;
    pipeline_.take_output(out);
    connection_.send(out);
    std::vector<Pipeline::Ended> ended;
    while (ended.size() < calls.size()) {
      const wire::Heard heard = connection_.hear();
      if (heard.bytes.empty()) break;
      EXPECT_EQ(pipeline_.hear(heard.bytes, ended).fault, Pipeline::Fault::none);
    }
    EXPECT_EQ(ended.size(), calls.size());
    std::vector<wire::Reply> replies;
    Pipeline::CallId id = next_id_ - calls.size();
    for (auto& one : ended) {
      EXPECT_EQ(one.id, id++);
      replies.push_back(std::move(one.reply));
    }
    return replies;
  }

  wire::Reply ask(const Words& words) {
    auto replies = ask_framed({framed(words)});
    return replies.empty() ? wire::Reply{} : std::move(replies.front());
  }

  /// As a cluster's node that is yet to have the slot: one call of two commands.
  wire::Reply ask_after_asking(const Words& words) {
    auto replies = ask_framed({framed({"ASKING"}) + framed(words)}, 2);
    return replies.empty() ? wire::Reply{} : std::move(replies.front());
  }

  /// What kind of error comes back.
  const char* error(const Words& words) {
    const wire::Reply reply = ask(words);
    EXPECT_EQ(reply.type, wire::ReplyType::error) << words[0] << ": " << reply.text;
    return name(kind_of(reply.text));
  }

  Handshake shake(const Handshake::Settings& settings) {
    Handshake handshake(settings);
    while (!handshake.command().empty()) {
      const auto replies = ask_framed({handshake.command()});
      if (replies.empty()) break;
      handshake.hear(replies.front());
    }
    return handshake;
  }

 private:
  wire::Connection connection_;
  Pipeline pipeline_;
  Pipeline::CallId next_id_ = 1;
};

TEST(RedisMachinesAgainstRedis, EveryKeyHasTheSlotThatRedisGivesIt) {
  const wire::RedisServer server({.arguments = {"--cluster-enabled", "yes"}});
  Client client(server);
  std::mt19937_64 random(23);
  std::vector<std::string> keys;
  std::vector<std::string> commands;
  for (int i = 0; i < 1000; ++i) {
    std::string key;
    for (std::size_t left = random() % 24; left > 0; --left) {
      key += random() % 4 == 0 ? "{}"[random() % 2] : static_cast<char>(random() % 256);
    }
    commands.push_back(framed({"CLUSTER", "KEYSLOT", key}));
    keys.push_back(std::move(key));
  }
  const auto replies = client.ask_framed(commands);
  ASSERT_EQ(replies.size(), keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(replies[i].integer, slot_of(keys[i])) << testing::PrintToString(keys[i]);
  }
}

TEST(RedisMachinesAgainstRedis, AClustersMapIsRead) {
  const wire::RedisServer server({.arguments = {"--cluster-enabled", "yes"}});
  Client client(server);
  const Node asked{"127.0.0.1", static_cast<std::uint16_t>(server.port())};
  const auto empty = SlotMap::read(client.ask({"CLUSTER", "SLOTS"}), asked);
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->owned(), 0u);
  EXPECT_STREQ(client.error({"SET", "foo", "1"}), "cluster_down");
  EXPECT_EQ(client.ask({"CLUSTER", "ADDSLOTSRANGE", "0", "12181", "12183", "16383"}).text, "OK");
  EXPECT_STREQ(client.error({"MSET", "a", "1", "b", "2"}), "cross_slot");
  const auto map = SlotMap::read(client.ask({"CLUSTER", "SLOTS"}), asked);
  ASSERT_TRUE(map);
  EXPECT_EQ(map->owned(), slot_count - 1u);
  EXPECT_EQ(map->master_of(slot_of("foo")), nullptr);
  // It does not know its own address yet, and leaves it out.
  EXPECT_EQ(*map->master_of(0), asked);
  const Handshake handshake = client.shake({});
  ASSERT_TRUE(handshake.done());
  EXPECT_EQ(handshake.facts().mode, ServerFacts::Mode::cluster);
}

Words add_slots(std::uint16_t first, int count) {
  return {"CLUSTER", "ADDSLOTSRANGE", std::to_string(first), std::to_string(first + count - 1)};
}

/// Asks until the cluster says that it stands; false where it does not in a minute.
bool stands(Client& client) {
  for (int i = 0; i < 1200; ++i) {
    if (client.ask({"CLUSTER", "INFO"}).text.find("cluster_state:ok") != std::string::npos) {
      return true;
    }
    client.ask({"DEBUG", "SLEEP", "0.05"});
  }
  return false;
}

// The key foo has slot 12182, which is on its way from the second node to the first.
TEST(RedisMachinesAgainstRedis, RedirectsLeadToWhoAnswers) {
  const wire::RedisServer first({.arguments = {"--cluster-enabled", "yes"}});
  const wire::RedisServer second({.arguments = {"--cluster-enabled", "yes"}});
  const Node first_node{"127.0.0.1", static_cast<std::uint16_t>(first.port())};
  const Node second_node{"127.0.0.1", static_cast<std::uint16_t>(second.port())};
  Client one(first);
  Client two(second);
  one.ask(add_slots(0, 8192));
  two.ask(add_slots(8192, 8192));
  one.ask({"CLUSTER", "MEET", "127.0.0.1", std::to_string(second.port()),
           std::to_string(second.bus_port())});
  ASSERT_TRUE(stands(one) && stands(two));

  Cluster cluster({});
  Cluster::Journey journey;
  auto map = SlotMap::read(one.ask({"CLUSTER", "SLOTS"}), first_node);
  ASSERT_TRUE(map);
  EXPECT_EQ(map->owned(), slot_count);
  EXPECT_EQ(*map->master_of(slot_of("foo")), second_node);
  const auto moved = read_redirect(one.ask({"GET", "foo"}).text);
  ASSERT_TRUE(moved);
  EXPECT_EQ(*moved, (Redirect{ErrorKind::moved, 12182, second_node}));
  const auto there = cluster.follow(journey, *moved, first_node);
  ASSERT_TRUE(there && !there->asking);
  EXPECT_EQ(*cluster.slots().master_of(12182), second_node);

  two.ask({"CLUSTER", "SETSLOT", "12182", "MIGRATING", one.ask({"CLUSTER", "MYID"}).text});
  one.ask({"CLUSTER", "SETSLOT", "12182", "IMPORTING", two.ask({"CLUSTER", "MYID"}).text});
  const auto ask = read_redirect(two.ask({"GET", "foo"}).text);
  ASSERT_TRUE(ask);
  EXPECT_EQ(*ask, (Redirect{ErrorKind::ask, 12182, first_node}));
  const auto back = cluster.follow(journey, *ask, second_node);
  ASSERT_TRUE(back && back->asking);
  EXPECT_EQ(*cluster.slots().master_of(12182), second_node);
  EXPECT_EQ(one.ask_after_asking({"SET", "foo", "1"}).text, "OK");
  EXPECT_STREQ(name(kind_of(one.ask_after_asking({"MGET", "{foo}1", "{foo}2"}).text)), "try_again");
}

TEST(RedisMachinesAgainstRedis, ItsErrorsAreOfTheKindThatTheyAre) {
  const wire::RedisServer server;
  Client client(server);
  client.ask({"RPUSH", "list", "1"});
  EXPECT_STREQ(client.error({"INCR", "list"}), "wrong_type");
  EXPECT_STREQ(client.error({"EVALSHA", std::string(40, '0'), "0"}), "no_script");
  EXPECT_STREQ(client.error({"FCALL", "no_such", "0"}), "no_function");
  EXPECT_STREQ(client.error({"CL.THROTTLE", "k"}), "unknown_command");
  EXPECT_STREQ(client.error({"HELLO", "9"}), "no_protocol");
  EXPECT_STREQ(client.error({"AUTH", "nobody", "x"}), "wrong_password");
  EXPECT_STREQ(client.error({"SELECT", "999"}), "other");
  client.ask({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_STREQ(client.error({"SET", "k", "v"}), "out_of_memory");
  EXPECT_STREQ(client.error({"EVAL", "redis.call('SET', KEYS[1], 'v')", "1", "k"}),
               "out_of_memory");
  client.ask({"CONFIG", "SET", "maxmemory", "0"});
  client.ask({"CONFIG", "SET", "min-replicas-to-write", "1"});
  EXPECT_STREQ(client.error({"SET", "k", "v"}), "no_replicas");
  client.ask({"CONFIG", "SET", "min-replicas-to-write", "0"});
  client.ask({"ACL", "SETUSER", "reader", "on", ">p", "+get", "~*"});
  client.ask({"AUTH", "reader", "p"});
  EXPECT_STREQ(client.error({"SET", "k", "v"}), "no_permission");
  Client another(server);
  another.ask({"REPLICAOF", "127.0.0.1", "1"});
  EXPECT_STREQ(another.error({"SET", "k", "v"}), "read_only");
  EXPECT_STREQ(another.error({"EVAL", "redis.call('SET', KEYS[1], 'v')", "1", "k"}), "read_only");
  another.ask({"CONFIG", "SET", "replica-serve-stale-data", "no"});
  EXPECT_STREQ(another.error({"GET", "k"}), "master_down");
}

TEST(RedisMachinesAgainstRedis, AServerInALongScriptSaysThatItIsBusy) {
  const wire::RedisServer server({.arguments = {"--busy-reply-threshold", "1"}});
  wire::Connection stuck(server.port());
  stuck.send(framed({"EVAL", "while true do end", "0"}));
  Client client(server);
  wire::Reply reply;
  for (int i = 0; i < 1000 && reply.type != wire::ReplyType::error; ++i) {
    reply = client.ask({"GET", "k"});
  }
  EXPECT_STREQ(name(kind_of(reply.text)), "busy") << reply.text;
  EXPECT_EQ(client.ask({"SCRIPT", "KILL"}).text, "OK");
}

TEST(RedisMachinesAgainstRedis, AHandshakeFindsOutWhatTheServerIs) {
  const wire::RedisServer server;
  const Handshake first = Client(server).shake({.db = 3});
  ASSERT_TRUE(first.done()) << first.error()->message;
  EXPECT_EQ(first.facts().protocol, ServerFacts::Protocol::resp3);
  EXPECT_EQ(first.facts().mode, ServerFacts::Mode::standalone);
  EXPECT_EQ(first.facts().role, ServerFacts::Role::master);
  EXPECT_FALSE(first.facts().version.empty());
  EXPECT_FALSE(first.facts().module);
  Client client(server);
  EXPECT_EQ(client.shake({.db = 999}).error()->step, Handshake::Step::select);
}

TEST(RedisMachinesAgainstRedis, APasswordIsSaidInEitherDialect) {
  const wire::RedisServer server(
      {.arguments = {"--requirepass", "s3cret", "--rename-command", "HELLO", ""}});
  for (const char* const user : {"", "default"}) {
    Client client(server);
    const Handshake handshake = client.shake({.user = user, .password = "s3cret", .db = 2});
    ASSERT_TRUE(handshake.done()) << handshake.error()->message;
    EXPECT_EQ(handshake.facts().protocol, ServerFacts::Protocol::resp2);
    EXPECT_EQ(handshake.facts().mode, ServerFacts::Mode::standalone);
    EXPECT_FALSE(handshake.facts().version.empty());
  }
  EXPECT_EQ(Client(server).shake({.password = "wrong"}).error()->kind, ErrorKind::wrong_password);
  const wire::RedisServer current({.arguments = {"--requirepass", "s3cret"}});
  EXPECT_TRUE(Client(current).shake({.password = "s3cret"}).done());
  const auto wrong = Client(current).shake({.password = "wrong"}).error();
  EXPECT_EQ(wrong->step, Handshake::Step::hello);
  EXPECT_EQ(wrong->kind, ErrorKind::wrong_password);
  EXPECT_EQ(Client(current).shake({}).error()->kind, ErrorKind::no_auth);
}

}  // namespace
}  // namespace weir::redis
