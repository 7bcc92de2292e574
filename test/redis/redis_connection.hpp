// Commands to a real server, one at a time.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "test/wire/redis_server.hpp"
#include "wire/resp_reader.hpp"

namespace weir::test {

using Words = std::vector<std::string>;

/// To 127.0.0.1.
class RedisConnection {
 public:
  explicit RedisConnection(int port, std::chrono::milliseconds patience = wire::Connection::patient)
      : connection_(port, patience) {}

  /// Its reply, which may be an error. Throws std::runtime_error where none comes in time.
  wire::Reply run(const Words& command);

  /// Its reply; throws std::runtime_error where that is an error.
  wire::Reply must(const Words& command);

 private:
  wire::Connection connection_;
  wire::ReplyReader reader_;
  std::string left_;
};

}  // namespace weir::test
