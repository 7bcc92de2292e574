#include "server/gateway/worker_grpc.hpp"

#include <memory>
#include <utility>

#include "server/grpc/reflection.hpp"

namespace weir::server {
namespace {

struct End {
  WireFault fault;
  std::string_view reason;
};

/// Why a connection is given up, by the limit that its client met.
End fault_of(std::optional<grpc::Http2Limit> limit) {
  using grpc::Http2Limit;
  if (!limit) return {WireFault::malformed, "expected HTTP/2"};
  switch (*limit) {
    case Http2Limit::greeting: return {WireFault::stalled, "no SETTINGS came in time"};
    case Http2Limit::request: return {WireFault::stalled, "a header did not end in time"};
    case Http2Limit::stalled_answer: return {WireFault::stalled, "an answer was not taken in time"};
    case Http2Limit::resets: return {WireFault::too_large, "too many calls were abandoned"};
    case Http2Limit::continuations: return {WireFault::too_large, "too many CONTINUATION frames"};
    default: return {WireFault::too_large, "too many frames without a call"};
  }
}

}  // namespace

WorkerGrpc::WorkerGrpc(Worker& worker, const grpc::Health& health)
    : context_(worker.context()), limits_(worker.decider()) {
  health.serve_by(services_);
  grpc::serve_rate_limits_by(services_, limits_);
  grpc::serve_reflection_by(services_);
}

DialogueMaker WorkerGrpc::maker() {
  return [this](std::shared_ptr<Carrier> carrier) {
    return std::make_unique<grpc::Http2Dialogue>(services_, std::move(carrier), room_,
                                                 grpc::Http2Limits{},
                                                 static_cast<grpc::Http2Watch*>(this));
  };
}

void WorkerGrpc::begun() { context_.metrics.asked_by(Speaks::grpc).add(1); }

void WorkerGrpc::met(grpc::Http2Limit limit) { context_.metrics.hit(limit); }

void WorkerGrpc::gave_up(std::optional<grpc::Http2Limit> limit, std::string_view peer) {
  const auto [fault, reason] = fault_of(limit);
  context_.metrics.gave_up(fault, Speaks::grpc);
  context_.service.log.write(
      LogKind::malformed_request,
      {{"client", peer}, {"name", std::string_view{"grpc"}}, {"reason", reason}});
}

}  // namespace weir::server
