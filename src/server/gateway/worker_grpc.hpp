// gRPC as one worker speaks it.
#pragma once

#include "server/gateway/rate_limits.hpp"
#include "server/grpc/health.hpp"
#include "server/grpc/http2_dialogue.hpp"
#include "server/worker.hpp"

namespace weir::server {

/// What a worker's gRPC clients may call: Envoy's rate limits by the rules in force, health,
/// reflection.
class WorkerGrpc final : private grpc::Http2Watch {
 public:
  /// Both outlive it; it outlives the worker's connections.
  WorkerGrpc(Worker& worker, const grpc::Health& health);
  WorkerGrpc(const WorkerGrpc&) = delete;
  WorkerGrpc& operator=(const WorkerGrpc&) = delete;

  const grpc::Services& services() const noexcept { return services_; }

  /// What the worker makes its gRPC connections with.
  DialogueMaker maker();

 private:
  void begun() override;
  void met(grpc::Http2Limit limit) override;
  void gave_up(std::optional<grpc::Http2Limit> limit, std::string_view peer) override;

  WorkerContext context_;
  RateLimits limits_;
  grpc::Services services_;
  grpc::MessageRoom room_;
};

}  // namespace weir::server
