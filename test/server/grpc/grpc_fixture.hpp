// A dialogue with all services, and a client that it answers.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "server/grpc/health.hpp"
#include "server/grpc/http2_dialogue.hpp"
#include "server/grpc/rate_limit_service.hpp"
#include "server/grpc/reflection.hpp"
#include "test/server/grpc/constant_decider.hpp"
#include "test/server/grpc/grpc_client.hpp"

namespace weir::test {

/// What is told of a client that meets limits, in a line.
struct TellingWatch final : server::grpc::Http2Watch {
  static std::string name(server::grpc::Http2Limit limit) {
    constexpr const char* names[server::grpc::http2_limits] = {
        "streams", "header_list_bytes", "continuations", "message_bytes", "resets",
        "frames",  "greeting",          "request",       "stalled",       "call"};
    return names[static_cast<std::size_t>(limit)];
  }
  void begun() override { ++calls; }
  void met(server::grpc::Http2Limit limit) override { told += name(limit) + ' '; }
  void gave_up(std::optional<server::grpc::Http2Limit> limit, std::string_view) override {
    told += "ends(" + (limit ? name(*limit) : "") + ") ";
  }
  std::string told;
  int calls = 0;
};

class GrpcFixture : public testing::Test {
 protected:
  GrpcFixture() {
    health.set("", server::grpc::Health::Serving::serving);
    health.serve_by(services);
    serve_rate_limits_by(services, decider);
    serve_reflection_by(services);
    begin();
  }

  /// A fresh connection.
  void begin(server::grpc::Http2Limits limits = {}) {
    dialogue =
        std::make_unique<server::grpc::Http2Dialogue>(services, carrier, room, limits, &watch);
    client = std::make_unique<GrpcClient>();
  }

  const Heard& ask(const HeaderList& header, const std::string& body) {
    const std::int32_t stream = client->call(header, body);
    converse(*client, *dialogue);
    return client->heard(stream);
  }

  void tick(int seconds) {
    for (int second = 0; second < seconds; ++second) dialogue->tick();
    converse(*client, *dialogue);
  }

  ConstantDecider decider;
  server::grpc::Health health;
  server::grpc::Services services;
  TellingWatch watch;
  server::grpc::MessageRoom room;
  std::shared_ptr<QueueCarrier> carrier = std::make_shared<QueueCarrier>();
  std::unique_ptr<server::grpc::Http2Dialogue> dialogue;
  std::unique_ptr<GrpcClient> client;
};

}  // namespace weir::test
