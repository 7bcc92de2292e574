// What the client does where servers, names and callers make its life hard.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "redis/access.hpp"
#include "redis/loop_client.hpp"
#include "test/redis/asking.hpp"
#include "test/redis/scripted_server.hpp"
#include "weir/redis/client.hpp"

namespace weir::redis {
namespace {

using namespace std::chrono_literals;
using test::ask;
using test::bulk;
using test::greet;
using test::ScriptedServer;
using Said = ScriptedServer::Said;
using Look = int (*)(const char*, const char*, const addrinfo*, addrinfo**);

/// What this program's look-ups of names that end in .test come to.
struct Names {
  std::atomic<bool> held{false};
  std::atomic<int> looked_up{0};
} names;

}  // namespace
}  // namespace weir::redis

/// Stands before the C library's: a name that ends in .test is first 127.0.0.2, then 127.0.0.1.
extern "C" int getaddrinfo(const char* host, const char* service, const addrinfo* hints,
                           addrinfo** found) {
  using weir::redis::names;
  static const auto real = reinterpret_cast<weir::redis::Look>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  if (host == nullptr || !std::string_view(host).ends_with(".test")) {
    return real(host, service, hints, found);
  }
  ++names.looked_up;
  names.held.wait(true);
  const int error = real("127.0.0.2", service, hints, found);
  return error != 0 ? error : real("127.0.0.1", service, hints, &(*found)->ai_next);
}

namespace weir::redis {
namespace {

Access access_to(const std::string& url, const Client::Settings& settings = {}) {
  auto access = read_access(url, settings);
  if (!access) throw std::runtime_error(access.error().message);
  return *access;
}

std::unique_ptr<Client> connect(const std::string& url, const Client::Settings& settings = {}) {
  return std::move(Client::connect(url, settings)).value();
}

/// Answers every greeting, and the last word of all else.
Said echo(const ScriptedServer::Words& command) {
  const std::string greeting = greet(command);
  return {greeting.empty() ? bulk(command.back()) : greeting};
}

/// A server that accepts nobody: its queue of 127.0.0.2 at this port is full.
class Deaf {
 public:
  explicit Deaf(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
    sockets_.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::bind(sockets_[0], generic, sizeof address) != 0 || ::listen(sockets_[0], 0) != 0) {
      throw std::runtime_error("127.0.0.2 has not this port");
    }
    for (int i = 0; i < 4; ++i) {
      sockets_.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      ::connect(sockets_.back(), generic, sizeof address);
    }
  }
  ~Deaf() {
    for (const int socket : sockets_) ::close(socket);
  }
  Deaf(const Deaf&) = delete;
  Deaf& operator=(const Deaf&) = delete;

 private:
  std::vector<int> sockets_;
};

TEST(ClientOfACluster, RestsWhileACallWaitsForTheMap) {
  ScriptedServer server([](const ScriptedServer::Words&) -> Said { return {}; });
  boost::asio::io_context io;
  LoopClient client(io, access_to("redis+cluster://127.0.0.1:" + std::to_string(server.port())));
  bool ended = false;
  ask(client, {"GET", "k"}, 400ms, [&](StoreReply&&) { ended = true; });
  const std::size_t turns = io.run_for(300ms);
  EXPECT_FALSE(ended);
  EXPECT_LT(turns, 50u);
}

TEST(ClientOfSentinels, DoesNotHurryBackToOneThatHangsUpAfterEachWord) {
  ScriptedServer sentinel([](const ScriptedServer::Words& command) -> Said {
    if (command[0] == "HELLO") return {"%1\r\n" + bulk("proto") + ":3\r\n"};
    if (command[0] == "PING") return {"+PONG\r\n", Said::Then::close};
    if (command[0] == "SUBSCRIBE") return {};
    return {greet(command)};
  });
  boost::asio::io_context io;
  LoopClient client(
      io, access_to("redis+sentinel://127.0.0.1:" + std::to_string(sentinel.port()) + "/weir"));
  io.run_for(500ms);
  EXPECT_LT(sentinel.accepted(), 60);
}

TEST(ClientThatEnds, EndsWhatIsAskedMeanwhileToo) {
  ScriptedServer server([](const ScriptedServer::Words& command) -> Said {
    return {greet(command)};  // and nothing to a call
  });
  auto client = connect(server.url());
  std::vector<std::string> told;
  ask(*client, {"ECHO", "hi"}, test::long_enough, [&, at = client.get()](StoreReply&& reply) {
    told.push_back(reply.text);
    ask(*at, {"ECHO", "again"}, test::long_enough,
        [&](StoreReply&& other) { told.push_back(other.text); });
  });
  client.reset();
  EXPECT_EQ(told, (std::vector<std::string>(2, "the client is being closed")));
}

TEST(ClientByAName, ConnectsHoweverSlowlyItIsLookedUp) {
  ScriptedServer server(&echo);
  names.held = true;
  const int before = names.looked_up;
  const auto client = connect("redis://slow.test:" + std::to_string(server.port()),
                              {.connect_within = 20ms, .longest_pause = 20ms});
  std::string why;
  while (why.find("still being looked up") == std::string::npos) {
    why = ask(*client, {"ECHO", "hi"}, 1s).text;
  }
  names.held = false;
  names.held.notify_all();
  EXPECT_EQ(test::ask_until_answered(*client, {"ECHO", "hi"}).text, "hi");
  EXPECT_EQ(names.looked_up, before + 1);
}

TEST(ClientByAName, ComesToASecondAddressWhereTheFirstIsSilent) {
  ScriptedServer server(&echo);
  const Deaf deaf(server.port());
  const auto client = connect("redis://two.test:" + std::to_string(server.port()),
                              {.connect_within = 100ms, .longest_pause = 50ms});
  const auto patience_ends_at = std::chrono::steady_clock::now() + 5s;
  StoreReply reply;
  while (reply.outcome != CallOutcome::answered &&
         std::chrono::steady_clock::now() < patience_ends_at) {
    reply = ask(*client, {"ECHO", "hi"}, 1s);
  }
  EXPECT_EQ(reply.text, "hi");
}

TEST(ClientOfACluster, SaysThatASlotIsNobodys) {
  std::atomic<int> port = 0;
  ScriptedServer server([&](const ScriptedServer::Words& command) -> Said {
    if (command[0] != "CLUSTER") return echo(command);
    return {"*1\r\n*3\r\n:0\r\n:12181\r\n*2\r\n" + bulk("127.0.0.1") + ":" + std::to_string(port) +
            "\r\n"};
  });
  port = server.port();
  const auto client = connect("redis+cluster://127.0.0.1:" + std::to_string(server.port()));
  EXPECT_EQ(test::ask_until_answered(*client, {"ECHO", "bar"}).text, "bar");
  const StoreReply reply = ask(*client, {"GET", "foo"}, 100ms);  // of slot 12182
  EXPECT_EQ(reply.outcome, CallOutcome::not_sent);
  EXPECT_NE(reply.text.find("slot 12182 has no owner"), std::string::npos) << reply.text;
}

TEST(ClientByScript, TellsWhatAServerSaidInOneShortLine) {
  ScriptedServer server([](const ScriptedServer::Words& command) -> Said {
    const std::string greeting = greet(command);
    if (!greeting.empty()) return {greeting};
    const std::string lines = "ERR out\n2026-01-01 forged line " + std::string(5'000, 'x');
    return {"+OK\r\n!" + std::to_string(lines.size()) + "\r\n" + lines + "\r\n+more\r\n"};
  });
  boost::asio::io_context io;
  LoopClient client(io, access_to(server.url()));
  std::string why;
  ask(client, {"ECHO", "hi"}, test::long_enough, [&](StoreReply&& reply) {
    EXPECT_EQ(reply.text, "OK");
    ask(client, {"ECHO", "unsent"}, test::long_enough, [&](StoreReply&& lost) { why = lost.text; });
  });
  while (why.empty()) io.run_one();
  EXPECT_NE(why.find("ERR out"), std::string::npos) << why;
  EXPECT_EQ(why.find('\n'), std::string::npos);
  EXPECT_LT(why.size(), 300u);
}

}  // namespace
}  // namespace weir::redis
