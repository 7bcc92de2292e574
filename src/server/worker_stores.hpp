// The store as all workers ask it, each over its own loop.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "redis/access.hpp"
#include "redis/loop_client.hpp"
#include "server/metrics.hpp"

namespace weir::server {

/// One client on each worker's loop: a connection to each node carries the calls of all clients of
/// the worker, those that come together in one write.
///
/// Threads  ask() from any: a worker's calls go over its own client and are answered on its thread,
///          others over the first worker's. stats() from any
class WorkerStores final : public redis::Store {
 public:
  explicit WorkerStores(redis::Access access) : access_(std::move(access)) {}

  /// Before the loop runs. Its thread is to call what is returned first of all.
  [[nodiscard]] std::function<void()> add(boost::asio::io_context& loop, WorkerMetrics& metrics);

  void ask(const redis::StoreCall& call, Then then) override;
  bool has_slots() const noexcept override;
  bool has_module(std::string_view route) const noexcept override;

  /// Of all clients together.
  redis::Client::Stats stats() const;

 private:
  struct Member {
    Member(boost::asio::io_context& its, WorkerMetrics& counts, const redis::Access& access)
        : loop(its), metrics(counts), client(its, access) {}

    boost::asio::io_context& loop;
    WorkerMetrics& metrics;
    redis::LoopClient client;
  };
  static void ask_over(Member& member, const redis::StoreCall& call, Then&& then);

  static thread_local Member* here;

  redis::Access access_;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace weir::server
