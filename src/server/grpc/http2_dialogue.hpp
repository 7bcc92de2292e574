// gRPC over HTTP/2, the server's side of one connection: bytes in, bytes out.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/dialogue.hpp"
#include "server/grpc/calls.hpp"
#include "server/grpc/http2_limits.hpp"
#include "server/grpc/services.hpp"
#include "weir/algorithm/gcra.hpp"

namespace weir::server::grpc {

/// Answers calls by the services. Who asks for too much of what costs the client nothing (calls
/// begun and abandoned, frames that no call needs, header lists without end, answers never taken)
/// is told GOAWAY with ENHANCE_YOUR_CALM, and the dialogue ends.
///
/// Threads  one at a time, the connection's; replies: see Reply
/// Memory   see Http2Limits; HTTP/2's own tables take 8 KiB at most
/// Errors   bad_alloc
class Http2Dialogue final : public Dialogue {
 public:
  /// The services outlive it, the room, and who watches.
  Http2Dialogue(const Services& services, std::shared_ptr<Carrier> carrier, MessageRoom& room,
                Http2Limits limits = {}, Http2Watch* watch = nullptr);

  void receive(std::string_view bytes) override;
  void write(std::string& output, std::size_t enough) override;
  bool wants_input() const override { return !ended_early_; }
  bool ended() const override;
  void tick() override;
  void drain() override;
  void hear_end() override;

 private:
  struct Callbacks;
  struct Delete {
    void operator()(nghttp2_session* session) const noexcept { nghttp2_session_del(session); }
  };

  void greet();
  void note_begin(const nghttp2_frame_hd& head);
  void note_received(const nghttp2_frame& frame);
  void note_sent(const nghttp2_frame& frame);
  void note_reset();
  void end_if_left();
  void fail(int error);
  void calm_down(std::optional<Http2Limit> met);
  void tell_end(std::optional<Http2Limit> met);
  void turn_away();

  const Http2Limits limits_;
  Http2Watch* const watch_;
  const std::shared_ptr<Carrier> carrier_;
  Calls calls_;
  std::unique_ptr<nghttp2_session, Delete> session_;
  Gcra::Config resets_allowed_;
  Gcra::State resets_{};
  std::uint64_t second_ = 0;      ///< ticks so far
  std::uint64_t idle_since_ = 0;  ///< the second of the last call
  std::uint64_t drains_since_ = 0;
  std::size_t frames_without_call_ = 0;
  std::size_t continuations_ = 0;  ///< of the header at hand
  bool greeted_ = false;           ///< the client's first SETTINGS has come
  bool drains_ = false;            ///< the client was told that the server will end
  bool turned_away_ = false;       ///< and after which call
  bool left_ = false;              ///< the client has said that it will
  bool receives_ = false;
  bool ended_early_ = false;  ///< nothing more is taken in
  bool speaks_no_http2_ = false;
  bool out_of_memory_ = false;
  bool told_end_ = false;
};

}  // namespace weir::server::grpc
