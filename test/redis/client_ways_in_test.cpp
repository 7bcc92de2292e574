// The ways to a server: a Unix socket, TLS, a user of an ACL.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "test/redis/asking.hpp"
#include "test/redis/certificate.hpp"
#include "test/wire/redis_server.hpp"
#include "weir/redis/client.hpp"

namespace weir::redis {
namespace {

using test::ask;
using test::Certificate;

std::unique_ptr<Client> connect(const std::string& url, const Client::Settings& settings = {}) {
  auto client = Client::connect(url, settings);
  if (!client) throw std::runtime_error(client.error().message);
  return std::move(client).value();
}

std::string port_of(const wire::RedisServer& server) { return std::to_string(server.port()); }

/// Of this process, and gone with it.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& name)
      : path_(std::filesystem::temp_directory_path() /
              ("weir-" + std::to_string(::getpid()) + "-" + name)) {}
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST(ClientWaysIn, ComesByAUnixSocket) {
  const TemporaryFile socket("socket");
  const wire::RedisServer server({.arguments = {"--unixsocket", socket.path()}});
  const auto client = connect("unix://" + socket.path() + "?db=2");
  EXPECT_EQ(ask(*client, {"ECHO", "hi"}).text, "hi");
  EXPECT_NE(ask(*client, {"CLIENT", "INFO"}).text.find("db=2"), std::string::npos);
  const auto nowhere = connect("unix://" + socket.path() + ".not");
  const StoreReply reply = ask(*nowhere, {"PING"});
  EXPECT_EQ(reply.outcome, CallOutcome::not_sent);
  EXPECT_NE(reply.text.find("No such file"), std::string::npos) << reply.text;
}

TEST(ClientWaysIn, ComesAsAUserWhosePasswordIsInAFile) {
  const wire::RedisServer server;
  const auto anybody = connect("redis://127.0.0.1:" + port_of(server));
  ASSERT_EQ(ask(*anybody, {"ACL", "SETUSER", "limiter", "on", ">s3cret", "~weir:*", "-@all",
                           "+acl|whoami", "+ping", "+get"})
                .text,
            "OK");
  const TemporaryFile file("password");
  std::ofstream(file.path()) << "s3cret\n";
  const auto client =
      connect("redis://limiter@127.0.0.1:" + port_of(server) + "?password-file=" + file.path());
  EXPECT_EQ(ask(*client, {"ACL", "WHOAMI"}).text, "limiter");
  EXPECT_EQ(ask(*client, {"GET", "other"}).text.substr(0, 6), "NOPERM");
}

TEST(ClientWaysIn, LooksUpAHostByItsName) {
  const wire::RedisServer server;
  const auto client = connect("redis://localhost:" + port_of(server));
  EXPECT_EQ(ask(*client, {"ECHO", "hi"}).text, "hi");
  const auto nowhere = connect("redis://no..name:6379");
  const StoreReply reply = ask(*nowhere, {"PING"});
  EXPECT_EQ(reply.outcome, CallOutcome::not_sent);
  EXPECT_NE(reply.text.find("no address of no..name"), std::string::npos) << reply.text;
}

TEST(ClientWaysIn, ComesByTlsToAServerThatItsAuthorityNames) {
  const Certificate servers("IP:127.0.0.1");
  const Certificate clients("DNS:client");
  const Certificate stranger("IP:127.0.0.1");
  const Certificate elsewhere("DNS:elsewhere");
  const auto start = [&clients](const Certificate& shown) {
    return std::make_unique<wire::RedisServer>(wire::RedisServer::Extras{
        .arguments = {"--tls-cert-file", shown.file(), "--tls-key-file", shown.key(),
                      "--tls-ca-cert-file", clients.file(), "--tls-replication", "yes",
                      "--tls-auth-clients", "yes"}});
  };
  const auto server = start(servers);
  // It began on a plain port, on which it now listens by TLS.
  const auto url = [](const wire::RedisServer& at) { return "127.0.0.1:" + port_of(at); };
  const auto with_tls = [&url](const wire::RedisServer& at) {
    const auto plain = connect("redis://" + url(at));
    EXPECT_EQ(ask(*plain, {"CONFIG", "SET", "port", "0", "tls-port", port_of(at)}).text, "OK");
    return "rediss://" + url(at);
  };
  const std::string secure = with_tls(*server);
  const Client::Settings right{
      .tls_ca = servers.file(), .tls_certificate = clients.file(), .tls_key = clients.key()};
  const auto client = connect(secure, right);
  EXPECT_EQ(ask(*client, {"ECHO", std::string(100'000, 'x')}).text, std::string(100'000, 'x'));

  Client::Settings wrong = right;
  wrong.tls_ca = stranger.file();
  const StoreReply refused = ask(*connect(secure, wrong), {"PING"});
  EXPECT_EQ(refused.outcome, CallOutcome::not_sent);
  EXPECT_NE(refused.text.find("not trusted"), std::string::npos) << refused.text;

  const auto nobody = connect(secure, {.tls_ca = servers.file()});
  EXPECT_NE(ask(*nobody, {"PING"}).outcome, CallOutcome::answered);

  const auto misnamed = start(elsewhere);
  Client::Settings other = right;
  other.tls_ca = elsewhere.file();
  const StoreReply mismatch = ask(*connect(with_tls(*misnamed), other), {"PING"});
  EXPECT_EQ(mismatch.outcome, CallOutcome::not_sent);
  EXPECT_NE(mismatch.text.find("IP address mismatch"), std::string::npos) << mismatch.text;
  EXPECT_EQ(mismatch.text.find("tls_ca"), std::string::npos) << mismatch.text;  // that is right
}

TEST(ClientWaysIn, RefusesTlsFilesThatAreNone) {
  const auto none = Client::connect("rediss://127.0.0.1", {.tls_ca = "/none"});
  ASSERT_FALSE(none);
  EXPECT_TRUE(none.error().message.starts_with("cannot read certificates from /none"));
  const auto half = Client::connect("rediss://127.0.0.1", {.tls_key = "/none"});
  ASSERT_FALSE(half);
  EXPECT_EQ(half.error().message, "tls_certificate and tls_key: expected both or none");
}

}  // namespace
}  // namespace weir::redis
