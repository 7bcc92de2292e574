#include "server/gateway/json_api.hpp"

#include <envoy/service/ratelimit/v3/rls.pb.h>
#include <google/protobuf/util/json_util.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace weir::server {
namespace {

namespace json = google::protobuf::util;
using envoy::service::ratelimit::v3::RateLimitRequest;
using envoy::service::ratelimit::v3::RateLimitResponse;

constexpr std::string_view method_path =
    "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

int status_of(RateLimitResponse::Code overall) {
  switch (overall) {
    case RateLimitResponse::OK: return 200;
    case RateLimitResponse::OVER_LIMIT: return 429;
    default: return 500;
  }
}

/// One request's answer, kept until it is known whether it comes now or later.
struct JsonCall final : grpc::AnswerAddress, grpc::Answering {
  JsonCall() : AnswerAddress{this, nullptr} {}

  void send(std::int32_t, const google::protobuf::MessageLite& message) override {
    const auto& response = static_cast<const RateLimitResponse&>(message);
    std::string body;
    if (!json::MessageToJsonString(response, &body).ok()) return;
    answer = json_answer(status_of(response.overall_code()), std::move(body));
  }

  void finish(std::int32_t, grpc::Status status) override {
    there = nullptr;  // once
    if (status.code != grpc::Code::ok) answer = plain_text(400, std::move(status.message));
    finished = true;
    if (later) later->send(answer);
  }

  HttpAnswer answer = plain_text(500, "the answer cannot be written as JSON");
  bool finished = false;
  std::optional<HttpLater> later{};
};

}  // namespace

void add_json_api(Router& router, const grpc::Services& services) {
  const auto& decide = std::get<grpc::Unary>(*services.find(method_path));
  router.add({"POST", "/json"}, [&decide](const HttpRequest& request, HttpReply& reply) {
    RateLimitRequest asked;
    const std::string body(request.body);
    const auto read = json::JsonStringToMessage(body, &asked);
    if (!read.ok()) return reply.send(plain_text(400, read.ToString()));
    const auto call = std::make_shared<JsonCall>();
    decide(asked.SerializeAsString(), grpc::Reply(call, 0));
    if (call->finished) return reply.send(call->answer);
    call->later = reply.later();
  });
}

}  // namespace weir::server
