// A rate limit service that decides nothing, by the dialogue of weir or by the least that HTTP/2
// lets one do: what lies between the two is what the dialogue costs.
//
//   rls_server weir|floor [PORT]      port 0 or none: any; prints `grpc 127.0.0.1:PORT`
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "server/grpc/health.hpp"
#include "server/grpc/http2_dialogue.hpp"
#include "server/grpc/rate_limit_service.hpp"
#include "server/grpc/reflection.hpp"
#include "test/server/grpc/constant_decider.hpp"
#include "test/server/grpc/dialogue_loop.hpp"

namespace {

using weir::server::Carrier;
using weir::server::Dialogue;

/// Overall OK, and one status: OK, 10 a second named "ten", 9 left, 1.5 s until the reset.
constexpr unsigned char constant_answer[] = {0,    0,    0,    0,    26,   0x08, 0x01, 0x12, 0x16,
                                             0x08, 0x01, 0x12, 0x09, 0x08, 0x0a, 0x10, 0x01, 0x1a,
                                             0x03, 't',  'e',  'n',  0x18, 0x09, 0x22, 0x07, 0x08,
                                             0x01, 0x10, 0x80, 0xca, 0xb5, 0xee, 0x01};

nghttp2_nv field(std::string_view name, std::string_view value) {
  const auto bytes = [](std::string_view text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(),
          NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE};
}

/// Whatever is asked, once it ends it has the constant answer.
class Floor final : public Dialogue {
 public:
  Floor() {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_server_new(&session_, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, nullptr, 0);
  }
  ~Floor() override { nghttp2_session_del(session_); }

  void receive(std::string_view bytes) override {
    nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(bytes.data()),
                             bytes.size());
  }
  void write(std::string& output, std::size_t) override {
    const std::uint8_t* bytes = nullptr;
    for (ssize_t count; (count = nghttp2_session_mem_send(session_, &bytes)) > 0;) {
      output.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(count));
    }
  }
  bool wants_input() const override { return true; }
  bool ended() const override { return false; }
  void tick() override {}
  void drain() override {}

 private:
  static int on_frame(nghttp2_session* session, const nghttp2_frame* frame, void*) {
    const bool asks = frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS;
    if (!asks || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
    const nghttp2_nv fields[] = {field(":status", "200"),
                                 field("content-type", "application/grpc")};
    nghttp2_data_provider provider{};
    provider.read_callback = write_answer;
    return nghttp2_submit_response(session, frame->hd.stream_id, fields, std::size(fields),
                                   &provider);
  }

  static ssize_t write_answer(nghttp2_session* session, std::int32_t stream, std::uint8_t* to,
                              std::size_t, std::uint32_t* flags, nghttp2_data_source*, void*) {
    std::memcpy(to, constant_answer, sizeof constant_answer);
    const nghttp2_nv trailer = field("grpc-status", "0");
    nghttp2_submit_trailer(session, stream, &trailer, 1);
    *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    return sizeof constant_answer;
  }

  nghttp2_session* session_ = nullptr;
};

int usage() {
  std::fputs("usage: rls_server weir|floor [PORT]\n", stderr);
  return 2;
}

}  // namespace

int main(int count, char** arguments) {
  using namespace weir::server::grpc;
  if (count < 2) return usage();
  const std::string_view kind = arguments[1];
  std::uint16_t port = 0;
  if (count > 2) {
    const std::string_view text = arguments[2];
    std::from_chars(text.data(), text.data() + text.size(), port);
  }
  if (kind == "floor") {
    weir::test::serve_dialogues(
        port, [](const std::shared_ptr<Carrier>&) { return std::make_unique<Floor>(); });
    return 0;
  }
  if (kind != "weir") return usage();
  weir::test::ConstantDecider decider;
  Services services;
  Health health;
  health.set("", Health::Serving::serving);
  health.serve_by(services);
  serve_rate_limits_by(services, decider);
  serve_reflection_by(services);
  MessageRoom room;
  weir::test::serve_dialogues(port, [&](const std::shared_ptr<Carrier>& carrier) {
    return std::make_unique<Http2Dialogue>(services, carrier, room);
  });
}
