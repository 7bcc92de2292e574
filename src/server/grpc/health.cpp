#include "server/grpc/health.hpp"

#include <grpc/health/v1/health.pb.h>

#include <memory>
#include <utility>

namespace weir::server::grpc {
namespace {

using ::grpc::health::v1::HealthCheckRequest;
using ::grpc::health::v1::HealthCheckResponse;
using Told = HealthCheckResponse::ServingStatus;

const Status not_a_request{Code::internal, "the message is no HealthCheckRequest"};

bool read(std::string_view message, HealthCheckRequest& request) {
  return request.ParseFromArray(message.data(), static_cast<int>(message.size()));
}

Told told(std::optional<Health::Serving> serving) {
  if (!serving) return HealthCheckResponse::SERVICE_UNKNOWN;
  return *serving == Health::Serving::serving ? HealthCheckResponse::SERVING
                                              : HealthCheckResponse::NOT_SERVING;
}

void check(const Health& health, std::string_view message, const Reply& reply) {
  HealthCheckRequest request;
  if (!read(message, request)) return reply.finish(not_a_request);
  const auto serving = health.of(request.service());
  if (!serving) return reply.finish({Code::not_found, "no such service: " + request.service()});
  HealthCheckResponse response;
  response.set_status(told(serving));
  reply.send(response);
  reply.finish();
}

/// Tells the status at first and whenever it has changed.
class Watch final : public Conversation {
 public:
  explicit Watch(const Health& health) : health_(health) {}

  void hear(std::string_view message, const Reply& reply) override {
    HealthCheckRequest request;
    if (service_) return reply.finish({Code::internal, "more than one message to a Watch"});
    if (!read(message, request)) return reply.finish(not_a_request);
    service_ = request.service();
    tick(reply);
  }

  void hear_end(const Reply& reply) override {
    if (!service_) reply.finish({Code::internal, "no message to a Watch"});
  }

  void tick(const Reply& reply) override {
    if (!service_) return;
    const Told now = told(health_.of(*service_));
    if (last_ == now) return;
    last_ = now;
    HealthCheckResponse response;
    response.set_status(now);
    reply.send(response);
  }

  void drain(const Reply& reply) override { tick(reply); }

 private:
  const Health& health_;
  std::optional<std::string> service_;
  std::optional<Told> last_;
};

}  // namespace

void Health::set(const std::string& service, Serving serving) {
  const std::lock_guard guard(lock_);
  serving_[service] = serving;
}

std::optional<Health::Serving> Health::of(std::string_view service) const {
  const std::lock_guard guard(lock_);
  const auto found = serving_.find(service);
  if (found == serving_.end()) return {};
  return found->second;
}

void Health::serve_by(Services& services) const {
  services.add("/grpc.health.v1.Health/Check",
               Unary([this](std::string_view message, const Reply& reply) {
                 check(*this, message, reply);
               }));
  services.add("/grpc.health.v1.Health/Watch",
               Streaming([this] { return std::make_unique<Watch>(*this); }));
}

}  // namespace weir::server::grpc
