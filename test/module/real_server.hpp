// The module in redis-servers, and what such a server keeps.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "test/redis/redis_connection.hpp"
#include "test/redis/redis_store.hpp"
#include "test/wire/redis_server.hpp"

namespace weir::module {

using test::Words;

/// The module's file.
std::string module_path();

/// What it takes to load the module, with these words behind its path, and further arguments.
wire::RedisServer::Extras with_module(const Words& words = {}, const Words& arguments = {});

struct KeptBytes {
  std::string bytes;          ///< as DUMP has them where the key holds no string
  std::int64_t until_ms = 0;  ///< -1: for ever

  bool operator==(const KeptBytes&) const = default;
};
using Contents = std::map<std::string, KeptBytes>;

/// A server with the module, by the wall clock or one that the test sets.
///
/// Errors   std::runtime_error where it does not come up, or gives no answer
class RealServer {
 public:
  explicit RealServer(wire::RedisServer::Extras extras = with_module());
  RealServer(wire::RedisServer::Extras extras, const redis::ClockFile& clock);

  int port() const { return server_.port(); }
  std::string log_tail() const { return server_.log_tail(); }
  wire::Reply run(const Words& command) { return connection_->run(command); }
  /// Its reply's text: an error's, a status or a bulk string.
  std::string text(const Words& command) { return run(command).text; }
  /// What WEIR.TAKE and its like decided; an error's text where it is one.
  std::string verdict(const Words& command);

  /// All that it keeps and that has not expired.
  Contents contents();
  std::vector<std::string> keys();
  std::vector<std::string> immortal_keys();

  /// Killed, and started anew with what lies in its folder.
  void restart();
  /// Asks INFO until it has this line; std::runtime_error after a minute.
  void await_info(const std::string& section, const std::string& line);

 private:
  wire::RedisServer server_;
  std::optional<test::RedisConnection> connection_;
};

}  // namespace weir::module
