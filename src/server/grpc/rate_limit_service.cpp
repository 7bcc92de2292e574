#include "server/grpc/rate_limit_service.hpp"

#include <envoy/service/ratelimit/v3/rls.pb.h>

#include <chrono>
#include <utility>

namespace weir::server::grpc {
namespace {

using envoy::service::ratelimit::v3::RateLimitResponse;
using Headers = google::protobuf::RepeatedPtrField<envoy::config::core::v3::HeaderValue>;

/// Seconds and the nanoseconds behind them, as google.protobuf has both instants and spans.
template <typename Proto>
void write(Span span, Proto& to) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(span);
  to.set_seconds(whole.count());
  to.set_nanos(static_cast<std::int32_t>(std::chrono::nanoseconds(span - whole).count()));
}

void write(const RateLimitQuota& quota, RateLimitResponse::Quota& to) {
  to.set_requests(quota.requests);
  write(quota.valid_until.time_since_epoch(), *to.mutable_valid_until());
  to.set_id(quota.id);
}

void write(const RateLimitStatus& status, RateLimitResponse::DescriptorStatus& to) {
  to.set_code(static_cast<RateLimitResponse::Code>(status.code));
  if (status.limit) {
    auto& limit = *to.mutable_current_limit();
    limit.set_requests_per_unit(status.limit->requests_per_unit);
    limit.set_unit(static_cast<RateLimitResponse::RateLimit::Unit>(status.limit->unit));
    limit.set_name(status.limit->name);
  }
  to.set_limit_remaining(status.remaining);
  if (status.until_reset) write(*status.until_reset, *to.mutable_duration_until_reset());
  if (status.quota) write(*status.quota, *to.mutable_quota());
}

void write(const std::vector<RateLimitHeader>& headers, Headers& to) {
  for (const RateLimitHeader& header : headers) {
    auto& added = *to.Add();
    added.set_key(header.name);
    added.set_value(header.value);
  }
}

void write(const RateLimitAnswer& answer, RateLimitResponse& to) {
  to.set_overall_code(static_cast<RateLimitResponse::Code>(answer.overall));
  for (const RateLimitStatus& status : answer.statuses) write(status, *to.add_statuses());
  write(answer.response_headers, *to.mutable_response_headers_to_add());
  write(answer.request_headers, *to.mutable_request_headers_to_add());
  if (!answer.raw_body.empty()) to.set_raw_body(answer.raw_body);
  if (answer.dynamic_metadata) *to.mutable_dynamic_metadata() = *answer.dynamic_metadata;
  if (answer.quota) write(*answer.quota, *to.mutable_quota());
}

}  // namespace

void RateLimitReply::answer(const RateLimitAnswer& answer) const {
  if (answer.statuses.size() != descriptors_) {
    return fail({Code::internal, "the decision is on other descriptors than were asked"});
  }
  static thread_local RateLimitResponse response;
  response.Clear();
  write(answer, response);
  reply_.send(response);
  reply_.finish();
}

void RateLimitReply::post(RateLimitAnswer&& answer) const {
  reply_.post([descriptors = descriptors_, answer = std::move(answer)](const Reply& reply) {
    RateLimitReply(reply, descriptors).answer(answer);
  });
}

void RateLimitReply::post_failure(Status status) const {
  reply_.post([status = std::move(status)](const Reply& reply) { reply.finish(status); });
}

void serve_rate_limits_by(Services& services, RateLimitDecider& decider, RateLimitBounds bounds) {
  services.add(std::string(rate_limit_method),
               Unary([&decider, bounds](std::string_view message, Reply reply) {
                 static thread_local RateLimitReader reader;
                 const auto ask = reader.read(message, bounds);
                 if (!ask) return reply.finish(ask.error());
                 decider.decide(*ask, {std::move(reply), ask->descriptors.size()});
               }));
}

}  // namespace weir::server::grpc
