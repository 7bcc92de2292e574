// Decides without a limit, so that the way there and back can be tested and measured.
#pragma once

#include <chrono>
#include <string>

#include "server/grpc/rate_limit_service.hpp"

namespace weir::test {

/// Grants with 9 of 10 a second left, but not what has the key "over". An entry ("fail", TEXT)
/// fails the call.
class ConstantDecider final : public server::grpc::RateLimitDecider {
 public:
  void decide(const server::grpc::RateLimitAsk& ask, server::grpc::RateLimitReply reply) override {
    using server::grpc::RateLimitCode;
    static thread_local server::grpc::RateLimitAnswer answer;
    answer.overall = RateLimitCode::ok;
    answer.statuses.resize(ask.descriptors.size());
    for (std::size_t at = 0; at < ask.descriptors.size(); ++at) {
      server::grpc::RateLimitStatus& status = answer.statuses[at];
      status.code = RateLimitCode::ok;
      if (!status.limit) status.limit = {10, server::grpc::RateLimitUnit::second, "ten"};
      status.remaining = 9;
      status.until_reset = std::chrono::milliseconds(1500);
      for (const server::grpc::RateLimitEntry& entry : ask.descriptors[at].entries) {
        if (entry.key == "fail") {
          return reply.fail({server::grpc::Code::unknown, std::string(entry.value)});
        }
        if (entry.key != "over") continue;
        answer.overall = status.code = RateLimitCode::over_limit;
        status.remaining = 0;
      }
    }
    reply.answer(answer);
  }
};

}  // namespace weir::test
