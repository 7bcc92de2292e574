// One connection to one Redis, kept up.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "redis/backoff.hpp"
#include "redis/client_counters.hpp"
#include "redis/handshake.hpp"
#include "redis/node.hpp"
#include "redis/pipeline.hpp"
#include "redis/tls.hpp"

namespace boost::asio {
class io_context;
}

namespace weir::redis {

/// Looks the host up, connects, says hello, then carries calls: those of one turn of the loop leave
/// in one write. Where the connection is lost it connects anew: at once where a server had
/// answered, though not more often than once in `backoff.first_for`, else after a backoff.
///
/// A call that is sent before the server has said hello waits for it, unless the last attempt has
/// failed. A server that owes an answer for `connect_within` beyond its deadline is given up, since
/// replies come in order.
///
/// Bound    Pipeline::Settings; one look-up of the host and one attempt at a time
/// Threads  the loop's
/// Errors   told with each call, in words; there is no other end to it than the destructor
class Connection {
 public:
  struct Settings {
    Node node{};
    std::string path{};  ///< of a Unix socket, which then stands for the node
    TlsContext tls{};    ///< null: plain
    Handshake::Settings handshake{};
    Pipeline::Settings pipeline{};
    std::chrono::nanoseconds connect_within = std::chrono::seconds{1};
    Backoff::Settings backoff{};
  };

  /// Who is told. May send further calls meanwhile, but not destroy the connection.
  class Owner {
   public:
    virtual ~Owner() = default;
    /// `why` is for calls that were not answered.
    virtual void call_ended(Connection& at, Pipeline::Ended&& ended, std::string_view why) = 0;
    virtual void opened(Connection& at) = 0;
    /// It was lost, or an attempt has failed. The calls that this ended were told of before.
    virtual void closed(Connection& at) = 0;
    virtual void pushed(Connection& at, const wire::Reply& push) = 0;
  };

  enum class Sent : std::uint8_t {
    queued,
    down,  ///< see why()
    full,
  };

  /// Begins with the loop's next turn. The loop, the owner and the counters outlive it.
  Connection(boost::asio::io_context& io, Settings settings, Owner& owner,
             ClientCounters& counters);
  /// Ends the calls under way.
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Where `queued`, the owner is told of the end; never before this returns.
  Sent send(const Pipeline::Call& call);

  /// Why it is down; empty where it never was.
  const std::string& why() const noexcept;
  const Node& node() const noexcept;
  bool is_open() const noexcept;
  /// Calls that hold a place.
  std::size_t in_flight() const noexcept;
  /// Of the server, once it is open.
  const ServerFacts& facts() const noexcept;

 private:
  class Body;
  std::shared_ptr<Body> body_;  ///< handlers of the loop may hold it longer
};

}  // namespace weir::redis
