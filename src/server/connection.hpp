// What one connection's commands may see and change.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/replies.hpp"
#include "server/return_address.hpp"
#include "server/service.hpp"
#include "weir/algorithm/redis_cell.hpp"
#include "wire/resp_reply.hpp"
#include "wire/resp_request.hpp"

namespace weir::server {

/// Commands that wait for EXEC, without a heap block for each.
struct Transaction {
  std::string bytes;                   ///< all arguments, one behind the other
  std::vector<std::uint32_t> lengths;  ///< of each argument
  std::vector<std::uint32_t> sizes;    ///< how many arguments each command has
  bool spoilt = false;                 ///< a command was refused: EXEC will be too

  std::size_t kept() const noexcept {
    return bytes.size() + (lengths.size() + sizes.size()) * sizeof(std::uint32_t);
  }
};

/// A connection as its commands see it; no socket.
struct Connection {
  std::uint64_t id = 0;
  wire::Protocol protocol = wire::Protocol::resp2;
  std::string name;
  std::string peer;
  std::unique_ptr<Transaction> transaction;  ///< between MULTI and EXEC
  bool authenticated = true;                 ///< or nobody is asked for a password
  bool closing = false;                      ///< QUIT: close once the replies are out
  Replies replies{};
  std::shared_ptr<ReturnAddress> address{};  ///< of answers that come later; null: none do
};

/// The numbers that CL.THROTTLE came with last: most clients send the same ones again and again.
struct LastThrottle {
  RedisCell::Call call;  ///< whatever its quantity
  Limit::Machine::Config config;

  bool is(const RedisCell::Call& other) const noexcept {
    return call.max_burst == other.max_burst && call.count == other.count &&
           call.period_s == other.period_s;
  }
};

/// What an answer counts in, whichever connection it is for.
struct WorkerContext {
  Service& service;
  WorkerMetrics& metrics;
  HotKeys& hot_keys;
};

/// What a decision is asked with, whatever protocol it is for.
struct DecisionContext : WorkerContext {
  RuleCache& rules;
  Instant now{};  ///< when the bytes at hand were read
  Grant grant{};  ///< scratch, so that the hot path need not clear one for each call
};

/// Everything a command runs against. One for each worker; the connection changes.
struct CommandContext : DecisionContext {
  Connection* connection = nullptr;
  std::uint64_t turn = 0;  ///< commands that may be answered now; RESET ends it before its time
  std::optional<std::uint64_t> key_hash{};  ///< of the command's first key, if it was fetched
  std::optional<LastThrottle> last_throttle{};
};

}  // namespace weir::server
