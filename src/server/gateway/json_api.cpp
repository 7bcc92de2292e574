#include "server/gateway/json_api.hpp"

#include <envoy/service/ratelimit/v3/rls.pb.h>
#include <google/protobuf/util/json_util.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "server/grpc/rate_limit_service.hpp"
#include "server/http/for_programs.hpp"
#include "server/http/json.hpp"

namespace weir::server {
namespace {

namespace json = google::protobuf::util;
using envoy::service::ratelimit::v3::RateLimitRequest;
using envoy::service::ratelimit::v3::RateLimitResponse;

int status_of(RateLimitResponse::Code overall) {
  switch (overall) {
    case RateLimitResponse::OK: return 200;
    case RateLimitResponse::OVER_LIMIT: return 429;
    default: return 500;
  }
}

/// One request.
struct JsonCall final : grpc::AnswerAddress, grpc::Answering {
  JsonCall() : AnswerAddress{this, nullptr} {}

  void send(std::int32_t, std::string_view message) override {
    RateLimitResponse response;
    std::string body;
    if (!response.ParseFromArray(message.data(), static_cast<int>(message.size())) ||
        !json::MessageToJsonString(response, &body).ok()) {
      return;
    }
    answer = json_answer(status_of(response.overall_code()), std::move(body));
    answer.fields = generation;
  }

  void finish(std::int32_t, grpc::Status status) override {
    there = nullptr;  // once
    if (status.code != grpc::Code::ok) answer = plain_text(400, std::move(status.message));
    owed.send(std::move(answer));
  }

  std::string generation{};  ///< the line that tells it
  HttpAnswer answer = plain_text(500, "the answer cannot be written as JSON");
  OwedAnswer owed{};
};

}  // namespace

void add_json_api(Router& router, const grpc::Services& services, const Decider& decider) {
  const auto& decide = std::get<grpc::Unary>(*services.find(grpc::rate_limit_method));
  const auto answer = [&decide, &decider](const HttpRequest& request, HttpReply& reply) {
    const auto refuse = [&reply](std::string why) { reply.send(plain_text(400, std::move(why))); };
    JsonText text;  // stricter than libprotobuf
    if (auto wrong = text.read(request.body)) return refuse(std::move(wrong->message));
    if (!text.value().is_object()) return refuse("the body: expected an object");
    RateLimitRequest asked;
    const auto read = json::JsonStringToMessage(std::string(request.body), &asked);
    if (!read.ok()) return refuse(std::string(read.message()));
    const auto call = std::make_shared<JsonCall>();
    if (const auto& generation = decider.generation())
      call->generation = generation_line(*generation);
    decide(asked.SerializeAsString(), grpc::Reply(call, 0));
    call->owed.send_or_keep_place(reply);
  };
  router.add({"POST", "/json"}, for_programs(answer));
}

}  // namespace weir::server
