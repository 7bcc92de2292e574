// weir's own connection to a Redis, a Sentinel's master or a cluster.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "weir/redis/store.hpp"
#include "weir/vocabulary.hpp"

namespace weir::redis {

/// What keeps a client from being made: a sentence that says what to do.
struct ClientError {
  std::string message;
};

/// Connects to the Redis that a URL names (docs/redis.md has the grammar), and stays so: reconnects
/// with backoff, follows a cluster's slots and a Sentinel's master. One connection for each node;
/// calls of many threads go out together in one write, and come back in order.
///
/// connect() does not wait for a server, and none need be there: until one answers, calls end
/// `not_sent` at once, or at their deadline while the first attempt is under way.
///
/// Threads  ask() from any thread; `then` is called on the client's own thread
/// Memory   bounded: `calls_in_flight` and `unsent_bytes` for each node
/// Errors   a URL that is none, a file that cannot be read. Whatever comes later, ask() tells.
class Client : public Store {
 public:
  struct Settings {
    std::string client_name = "weir";    ///< as CLIENT LIST shows it
    std::size_t calls_in_flight = 1024;  ///< for each node; more end `not_sent`
    std::size_t unsent_bytes = 1 << 20;  ///< for each node
    std::chrono::nanoseconds connect_within = std::chrono::seconds{1};
    std::chrono::nanoseconds longest_pause = std::chrono::seconds{2};  ///< between attempts
    std::string tls_ca{};           ///< whom to trust; empty: whom this machine trusts
    std::string tls_certificate{};  ///< to show; may be empty, with its key
    std::string tls_key{};
  };

  static Expected<std::unique_ptr<Client>, ClientError> connect(std::string_view url,
                                                                const Settings& settings);
  static Expected<std::unique_ptr<Client>, ClientError> connect(std::string_view url) {
    return connect(url, Settings{});
  }

  /// Ends calls under way, as `indeterminate` where they were sent, then returns; at once but for a
  /// host whose name is being looked up, which nobody can stop. Not to be called by a `then`.
  ~Client() override;

  void ask(const StoreCall& call, Then then) override;
  bool has_slots() const noexcept override;  ///< of a cluster's URL
  bool has_module(std::string_view route) const noexcept override;

  /// What happened so far.
  struct Stats {
    std::uint64_t calls = 0;
    std::uint64_t connections = 0;  ///< that were made
    std::uint64_t failed_attempts = 0;
    std::uint64_t redirects = 0;
    std::uint64_t late_replies = 0;   ///< dropped: their call's deadline had passed
    std::size_t connected_nodes = 0;  ///< now
  };
  Stats stats() const;

 private:
  class Body;
  explicit Client(std::unique_ptr<Body> body);

  std::unique_ptr<Body> body_;
};

}  // namespace weir::redis
