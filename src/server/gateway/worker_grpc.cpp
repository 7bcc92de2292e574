#include "server/gateway/worker_grpc.hpp"

#include <memory>
#include <utility>

#include "server/grpc/reflection.hpp"

namespace weir::server {

WorkerGrpc::WorkerGrpc(Worker& worker, const grpc::Health& health)
    : limits_(worker.decider(), worker.rules()) {
  health.serve_by(services_);
  grpc::serve_rate_limits_by(services_, limits_);
  grpc::serve_reflection_by(services_);
}

DialogueMaker WorkerGrpc::maker() {
  return [this](std::shared_ptr<Carrier> carrier) {
    return std::make_unique<grpc::Http2Dialogue>(services_, std::move(carrier));
  };
}

}  // namespace weir::server
