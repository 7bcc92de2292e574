// Whatever bytes a client sends, in whatever pieces, a dialogue takes them, in bounded memory, and
// either goes on or ends; it answers alike however they are cut.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "server/grpc/health.hpp"
#include "server/grpc/http2_dialogue.hpp"
#include "server/grpc/rate_limit_service.hpp"
#include "server/grpc/reflection.hpp"
#include "test/server/grpc/constant_decider.hpp"
#include "test/server/grpc/grpc_client.hpp"

namespace {

using namespace weir::server::grpc;
using weir::test::QueueCarrier;

void require(bool holds) {
  if (!holds) __builtin_trap();
}

struct Server {
  Server() {
    health.set("", Health::Serving::serving);
    health.serve_by(services);
    serve_rate_limits_by(services, decider);
    serve_reflection_by(services);
  }

  weir::test::ConstantDecider decider;
  Health health;
  Services services;
  mutable MessageRoom room;
};

/// What is answered to bytes that come in such pieces, and nothing is sent before all are there.
std::string answer(const Server& server, std::string_view bytes, std::size_t piece) {
  Http2Dialogue dialogue(server.services, std::make_shared<QueueCarrier>(), server.room);
  dialogue.receive(weir::test::preface);
  for (; !bytes.empty() && dialogue.wants_input(); bytes.remove_prefix(piece)) {
    piece = std::min(piece, bytes.size());
    dialogue.receive(bytes.substr(0, piece));
  }
  return weir::test::written(dialogue);
}

/// Time passes, and the server ends: nothing may be left that keeps the connection.
void lives_to_its_end(const Server& server, std::string_view bytes) {
  Http2Dialogue dialogue(server.services, std::make_shared<QueueCarrier>(), server.room);
  dialogue.receive(weir::test::preface);
  const std::size_t half = bytes.size() / 2;
  dialogue.receive(bytes.substr(0, half));
  std::string output;
  dialogue.write(output, 100);
  dialogue.tick();
  if (dialogue.wants_input()) dialogue.receive(bytes.substr(half));
  weir::test::written(dialogue);
  dialogue.drain();
  for (int second = 0; second < 70 && !dialogue.ended(); ++second) {
    dialogue.tick();
    weir::test::written(dialogue);
  }
  require(dialogue.ended());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Server server;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string whole = answer(server, bytes, std::size_t{16} << 10);
  require(answer(server, bytes, 1) == whole);
  require(answer(server, bytes, 7) == whole);
  lives_to_its_end(server, bytes);
  require(server.room.left() == MessageRoom::usual);
  return 0;
}
