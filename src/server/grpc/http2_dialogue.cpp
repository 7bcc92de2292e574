#include "server/grpc/http2_dialogue.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace weir::server::grpc {
namespace {

Instant instant_of(std::uint64_t second) {
  return Instant{} + std::chrono::seconds(static_cast<std::int64_t>(second));
}

template <typename Handle, auto Make, auto Unmake>
std::unique_ptr<Handle, decltype(Unmake)> made() {
  Handle* handle = nullptr;
  if (Make(&handle) != 0) throw std::bad_alloc();
  return {handle, Unmake};
}

std::string_view view(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

}  // namespace

/// What nghttp2 calls: each passes on to the dialogue. Nothing is thrown through it. Once nothing
/// more is taken in, an error stops it within the bytes at hand.
struct Http2Dialogue::Callbacks {
  template <typename Action>
  static int pass(void* dialogue, Action action) noexcept {
    auto& self = *static_cast<Http2Dialogue*>(dialogue);
    try {
      if (!self.ended_early_) action(self);
    } catch (...) {
      self.out_of_memory_ = true;
      return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    return self.ended_early_ && self.receives_ ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
  }

  static int on_begin_frame(nghttp2_session*, const nghttp2_frame_hd* head, void* dialogue) {
    return pass(dialogue, [&](Http2Dialogue& self) { self.note_begin(*head); });
  }

  static int on_begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* dialogue) {
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    return pass(dialogue, [&](Http2Dialogue& self) { self.calls_.begin(frame->hd.stream_id); });
  }

  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                       std::uint8_t, void* dialogue) {
    bool bearable = true;
    const int result = pass(dialogue, [&](Http2Dialogue& self) {
      bearable = self.calls_.read_header(frame->hd.stream_id, view(name, name_size),
                                         view(value, value_size));
    });
    return bearable ? result : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }

  static int on_data(nghttp2_session*, std::uint8_t, std::int32_t stream, const std::uint8_t* data,
                     std::size_t size, void* dialogue) {
    return pass(dialogue,
                [&](Http2Dialogue& self) { self.calls_.read_data(stream, view(data, size)); });
  }

  static int on_frame_received(nghttp2_session*, const nghttp2_frame* frame, void* dialogue) {
    return pass(dialogue, [&](Http2Dialogue& self) { self.note_received(*frame); });
  }

  static int on_invalid_frame(nghttp2_session*, const nghttp2_frame* frame, int, void* dialogue) {
    return pass(dialogue, [&](Http2Dialogue& self) {
      const bool one_too_many = frame->hd.type == NGHTTP2_HEADERS &&
                                frame->headers.cat == NGHTTP2_HCAT_REQUEST &&
                                self.calls_.size() >= self.limits_.streams;
      if (one_too_many && self.watch_) self.watch_->met(Http2Limit::streams);
    });
  }

  static int on_frame_sent(nghttp2_session*, const nghttp2_frame* frame, void* dialogue) {
    return pass(dialogue, [&](Http2Dialogue& self) { self.note_sent(*frame); });
  }

  static int on_stream_closed(nghttp2_session*, std::int32_t stream, std::uint32_t,
                              void* dialogue) {
    return pass(dialogue, [&](Http2Dialogue& self) {
      self.calls_.close(stream);
      self.end_if_left();
    });
  }

  static ssize_t write_answer(nghttp2_session*, std::int32_t, std::uint8_t* to, std::size_t room,
                              std::uint32_t* flags, nghttp2_data_source* source, void* dialogue) {
    ssize_t count = NGHTTP2_ERR_DEFERRED;
    const int result = pass(dialogue, [&](Http2Dialogue& self) {
      count = self.calls_.write(*static_cast<Call*>(source->ptr), {to, room}, *flags);
    });
    return result != 0 ? result : count;
  }

  /// A frame of a kind that HTTP/2 does not define: it is counted, and passed over.
  static int on_extension(nghttp2_session*, void**, const nghttp2_frame_hd*, void*) {
    return NGHTTP2_ERR_CANCEL;
  }

  static const nghttp2_session_callbacks* all() {
    static const auto callbacks = [] {
      auto table = made<nghttp2_session_callbacks, nghttp2_session_callbacks_new,
                        nghttp2_session_callbacks_del>();
      nghttp2_session_callbacks_set_on_begin_frame_callback(table.get(), on_begin_frame);
      nghttp2_session_callbacks_set_on_begin_headers_callback(table.get(), on_begin_headers);
      nghttp2_session_callbacks_set_on_header_callback(table.get(), on_header);
      nghttp2_session_callbacks_set_on_data_chunk_recv_callback(table.get(), on_data);
      nghttp2_session_callbacks_set_on_frame_recv_callback(table.get(), on_frame_received);
      nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(table.get(), on_invalid_frame);
      nghttp2_session_callbacks_set_on_frame_send_callback(table.get(), on_frame_sent);
      nghttp2_session_callbacks_set_on_stream_close_callback(table.get(), on_stream_closed);
      nghttp2_session_callbacks_set_unpack_extension_callback(table.get(), on_extension);
      return table;
    }();
    return callbacks.get();
  }

  static const nghttp2_option* options() {
    static const auto option = [] {
      auto wished = made<nghttp2_option, nghttp2_option_new, nghttp2_option_del>();
      nghttp2_option_set_no_auto_window_update(wished.get(), 1);
      nghttp2_option_set_no_closed_streams(wished.get(), 1);
      // Counted here: resets by the time that the host tells; continuations as nghttp2 1.52 does
      // not, which takes each piece of one's head for another.
      nghttp2_option_set_stream_reset_rate_limit(wished.get(), std::uint64_t{1} << 60, 1);
      nghttp2_option_set_max_continuations(wished.get(), std::size_t{1} << 30);
      // Frames of other kinds than HTTP/2's first ten are told of only if they are expected.
      for (int type = NGHTTP2_CONTINUATION + 1; type < 256; ++type) {
        nghttp2_option_set_user_recv_extension_type(wished.get(), static_cast<std::uint8_t>(type));
      }
      return wished;
    }();
    return option.get();
  }
};

Http2Dialogue::Http2Dialogue(const Services& services, std::shared_ptr<Carrier> carrier,
                             MessageRoom& room, Http2Limits limits, Http2Watch* watch)
    : limits_(limits),
      watch_(watch),
      carrier_(carrier),
      calls_(services, limits_, room, watch, std::move(carrier)),
      resets_allowed_(
          Gcra::configure(
              {.count = limits_.resets, .period = limits_.resets_for, .burst = limits_.resets})
              .value()) {
  nghttp2_session* session = nullptr;
  if (nghttp2_session_server_new2(&session, Callbacks::all(), this, Callbacks::options()) != 0) {
    throw std::bad_alloc();
  }
  session_.reset(session);
  calls_.speak_by(session, Callbacks::write_answer);
  greet();
}

void Http2Dialogue::greet() {
  const auto largest_message = static_cast<std::uint32_t>(limits_.message_bytes + prefix_bytes);
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits_.streams},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, largest_message},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
       static_cast<std::uint32_t>(limits_.header_list_bytes)},
      {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
  };
  const bool said =
      nghttp2_submit_settings(session_.get(), NGHTTP2_FLAG_NONE, settings, std::size(settings)) ==
          0 &&
      nghttp2_session_set_local_window_size(session_.get(), NGHTTP2_FLAG_NONE, 0,
                                            static_cast<std::int32_t>(limits_.request_bytes)) == 0;
  if (!said) throw std::bad_alloc();
}

void Http2Dialogue::receive(std::string_view bytes) {
  if (ended_early_) return;
  const Calls::Course course(calls_);
  receives_ = true;
  const ssize_t taken = nghttp2_session_mem_recv(
      session_.get(), reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  receives_ = false;
  if (taken < 0) fail(static_cast<int>(taken));
}

void Http2Dialogue::write(std::string& output, std::size_t enough) {
  const Calls::Course course(calls_);
  const std::size_t begin = output.size();
  do {
    while (output.size() - begin < enough) {
      const std::uint8_t* bytes = nullptr;
      const ssize_t count = nghttp2_session_mem_send(session_.get(), &bytes);
      if (count < 0) return fail(static_cast<int>(count));
      if (count == 0) break;
      output.append(view(bytes, static_cast<std::size_t>(count)));
    }
  } while (output.size() - begin < enough && calls_.go_on());
}

bool Http2Dialogue::ended() const {
  if (speaks_no_http2_) return true;
  if (nghttp2_session_want_write(session_.get()) != 0) return false;
  return ended_early_ || nghttp2_session_want_read(session_.get()) == 0;
}

void Http2Dialogue::tick() {
  const Calls::Course course(calls_);
  ++second_;
  frames_without_call_ = 0;
  if (ended_early_) return;
  if (const auto limit = calls_.tick(second_)) calm_down(limit);
  if (!calls_.empty()) idle_since_ = second_;
  const auto passed = [&](std::uint64_t since, std::chrono::seconds patience) {
    return second_ - since >= static_cast<std::uint64_t>(patience.count());
  };
  if (!greeted_ && passed(0, limits_.greeting)) {
    calm_down(Http2Limit::greeting);
  } else if (drains_ && !turned_away_ && second_ - drains_since_ > 1) {
    turn_away();
  } else if (!drains_ && passed(idle_since_, limits_.idle)) {
    drain();
  }
}

/// In two steps, so that no call is lost that the client has sent meanwhile: what comes until it
/// has heard of the first is still answered.
void Http2Dialogue::drain() {
  if (drains_ || ended_early_) return;
  const Calls::Course course(calls_);
  drains_ = true;
  drains_since_ = second_;
  calls_.drain();
  nghttp2_submit_shutdown_notice(session_.get());
  nghttp2_submit_ping(session_.get(), NGHTTP2_FLAG_NONE, nullptr);
}

/// No PING of ours will be answered.
void Http2Dialogue::hear_end() {
  drain();
  const Calls::Course course(calls_);
  if (!turned_away_ && !ended_early_) turn_away();
}

void Http2Dialogue::turn_away() {
  turned_away_ = true;
  calls_.end_conversations();
  nghttp2_submit_goaway(session_.get(), NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session_.get()), NGHTTP2_NO_ERROR,
                        nullptr, 0);
}

// ---- Frames ----

void Http2Dialogue::note_begin(const nghttp2_frame_hd& head) {
  continuations_ = head.type == NGHTTP2_CONTINUATION ? continuations_ + 1 : 0;
  if (continuations_ > limits_.continuations) return calm_down(Http2Limit::continuations);
  const bool carries = head.type == NGHTTP2_HEADERS || head.type == NGHTTP2_CONTINUATION ||
                       head.type == NGHTTP2_RST_STREAM ||  // counted by itself
                       (head.type == NGHTTP2_DATA && head.length > 0);
  if (!carries && ++frames_without_call_ > limits_.frames_without_call) {
    calm_down(Http2Limit::frames_without_call);
  }
}

void Http2Dialogue::note_received(const nghttp2_frame& frame) {
  const std::int32_t stream = frame.hd.stream_id;
  switch (frame.hd.type) {
    case NGHTTP2_HEADERS:
      frames_without_call_ = 0;
      idle_since_ = second_;
      calls_.end_header(stream);
      break;
    case NGHTTP2_DATA: break;
    case NGHTTP2_SETTINGS: greeted_ = true; return;
    case NGHTTP2_RST_STREAM: note_reset(); return;
    case NGHTTP2_GOAWAY: left_ = true; return end_if_left();
    case NGHTTP2_PING:
      if (drains_ && !turned_away_ && (frame.hd.flags & NGHTTP2_FLAG_ACK) != 0) turn_away();
      return;
    default: return;
  }
  if ((frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) calls_.hear_end(stream);
}

void Http2Dialogue::note_sent(const nghttp2_frame& frame) {
  if (frame.hd.type == NGHTTP2_GOAWAY && frame.goaway.error_code != NGHTTP2_NO_ERROR) {
    return tell_end({});
  }
  if (frame.hd.type == NGHTTP2_RST_STREAM && frame.rst_stream.error_code != NGHTTP2_NO_ERROR) {
    return note_reset();
  }
  const bool ends_answer =
      frame.hd.type == NGHTTP2_HEADERS && (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  if (!ends_answer) return;
  const std::int32_t stream = frame.hd.stream_id;
  if (nghttp2_session_get_stream_remote_close(session_.get(), stream) == 0) {
    // Whatever more the client has to send is of no use.
    nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, stream, NGHTTP2_NO_ERROR);
  }
}

/// A call that its client abandoned or broke.
void Http2Dialogue::note_reset() {
  const Decision decision = step<Gcra>(resets_allowed_, resets_, {.now = instant_of(second_)});
  if (decision.verdict != Verdict::granted) calm_down(Http2Limit::resets);
}

/// The client begins no more calls, and none is open.
void Http2Dialogue::end_if_left() {
  if (left_ && calls_.empty()) ended_early_ = true;
}

void Http2Dialogue::fail(int error) {
  if (out_of_memory_ || error == NGHTTP2_ERR_NOMEM) throw std::bad_alloc();
  if (error == NGHTTP2_ERR_BAD_CLIENT_MAGIC) {
    ended_early_ = speaks_no_http2_ = true;
    tell_end({});
  } else {
    calm_down({});
  }
}

void Http2Dialogue::tell_end(std::optional<Http2Limit> met) {
  if (!watch_ || std::exchange(told_end_, true)) return;
  if (met) watch_->met(*met);
  watch_->gave_up(met, carrier_->peer());
}

void Http2Dialogue::calm_down(std::optional<Http2Limit> met) {
  if (ended_early_) return;
  ended_early_ = true;
  tell_end(met);
  nghttp2_session_terminate_session(session_.get(), NGHTTP2_ENHANCE_YOUR_CALM);
}

}  // namespace weir::server::grpc
