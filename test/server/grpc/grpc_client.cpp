#include "test/server/grpc/grpc_client.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "server/grpc/protocol.hpp"

namespace weir::test {
namespace {

std::string text(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

std::vector<nghttp2_nv> fields_of(const HeaderList& header) {
  std::vector<nghttp2_nv> fields;
  const auto bytes = [](const std::string& part) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(part.data()));
  };
  for (const auto& [name, value] : header) {
    fields.push_back({bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE});
  }
  return fields;
}

std::uint32_t number(std::string_view bytes) {
  std::uint32_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<std::uint8_t>(byte);
  return value;
}

}  // namespace

std::string framed(std::string_view message, char flag) {
  std::uint8_t prefix[server::grpc::prefix_bytes];
  server::grpc::write_prefix(prefix, message.size());
  prefix[0] = static_cast<std::uint8_t>(flag);
  return text(prefix, sizeof prefix).append(message);
}

HeaderList call_header(const std::string& path, const HeaderList& more) {
  HeaderList header{{":method", "POST"}, {":scheme", "http"},
                    {":path", path},     {":authority", "test"},
                    {"te", "trailers"},  {"content-type", "application/grpc"}};
  header.insert(header.end(), more.begin(), more.end());
  return header;
}

std::string Heard::field(const std::string& name) const {
  for (const auto* list : {&trailer, &header}) {
    const auto found = list->find(name);
    if (found != list->end()) return found->second;
  }
  return "";
}

int Heard::code() const {
  const std::string status = field("grpc-status");
  int value = -1;
  std::from_chars(status.data(), status.data() + status.size(), value);
  return value;
}

std::vector<std::string> Heard::messages() const {
  std::vector<std::string> messages;
  std::string_view rest = body;
  while (rest.size() >= server::grpc::prefix_bytes) {
    const std::size_t length = number(rest.substr(1, 4));
    messages.emplace_back(rest.substr(server::grpc::prefix_bytes, length));
    rest.remove_prefix(std::min(rest.size(), server::grpc::prefix_bytes + length));
  }
  return messages;
}

struct GrpcClient::Callbacks {
  static GrpcClient& self(void* client) { return *static_cast<GrpcClient*>(client); }

  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                       std::uint8_t, void* client) {
    Heard& heard = self(client).heard_[frame->hd.stream_id];
    auto& list = frame->headers.cat == NGHTTP2_HCAT_RESPONSE ? heard.header : heard.trailer;
    list[text(name, name_size)] = text(value, value_size);
    return 0;
  }

  static int on_data(nghttp2_session*, std::uint8_t, std::int32_t stream, const std::uint8_t* data,
                     std::size_t size, void* client) {
    self(client).heard_[stream].body += text(data, size);
    return 0;
  }

  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* client) {
    if (frame->hd.type == NGHTTP2_GOAWAY) {
      self(client).goaway_ = frame->goaway.error_code;
      self(client).goaway_streams_.push_back(frame->goaway.last_stream_id);
    } else if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 &&
               (frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS)) {
      self(client).heard_[frame->hd.stream_id].ended = true;
    }
    return 0;
  }

  static int on_close(nghttp2_session*, std::int32_t stream, std::uint32_t code, void* client) {
    self(client).heard_[stream].closed_by = code;
    return 0;
  }

  static ssize_t read(nghttp2_session*, std::int32_t stream, std::uint8_t* to, std::size_t room,
                      std::uint32_t* flags, nghttp2_data_source*, void* client) {
    Saying& saying = self(client).sayings_[stream];
    const std::size_t count = std::min(room, saying.bytes.size());
    std::copy_n(saying.bytes.begin(), count, to);
    saying.bytes.erase(0, count);
    if (saying.bytes.empty() && saying.ends) {
      *flags |= NGHTTP2_DATA_FLAG_EOF;
    } else if (count == 0) {
      return NGHTTP2_ERR_DEFERRED;
    }
    return static_cast<ssize_t>(count);
  }
};

GrpcClient::GrpcClient() {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, Callbacks::on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Callbacks::on_data);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, Callbacks::on_frame);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, Callbacks::on_close);
  nghttp2_session* session = nullptr;
  nghttp2_session_client_new(&session, callbacks, this);
  nghttp2_session_callbacks_del(callbacks);
  session_.reset(session);
  nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, nullptr, 0);
}

std::int32_t GrpcClient::submit(const HeaderList& header, Saying saying) {
  const std::vector<nghttp2_nv> fields = fields_of(header);
  nghttp2_data_provider provider{};
  provider.read_callback = Callbacks::read;
  const bool bare = saying.bytes.empty() && saying.ends;
  const std::int32_t stream = nghttp2_submit_request(
      session_.get(), nullptr, fields.data(), fields.size(), bare ? nullptr : &provider, nullptr);
  sayings_[stream] = std::move(saying);
  return stream;
}

std::int32_t GrpcClient::call(const HeaderList& header, const std::string& body) {
  return submit(header, {body, true});
}

std::int32_t GrpcClient::open(const HeaderList& header, const std::string& body) {
  return submit(header, {body, false});
}

void GrpcClient::say(std::int32_t stream, const std::string& body) {
  sayings_[stream].bytes += body;
  nghttp2_session_resume_data(session_.get(), stream);
}

void GrpcClient::end(std::int32_t stream) {
  sayings_[stream].ends = true;
  nghttp2_session_resume_data(session_.get(), stream);
}

void GrpcClient::reset(std::int32_t stream, std::uint32_t code) {
  nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, stream, code);
}

void GrpcClient::close_window() {
  const nghttp2_settings_entry none{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0};
  nghttp2_submit_settings(session_.get(), NGHTTP2_FLAG_NONE, &none, 1);
}

std::string GrpcClient::said() {
  std::string bytes;
  const std::uint8_t* some = nullptr;
  for (ssize_t count; (count = nghttp2_session_mem_send(session_.get(), &some)) > 0;) {
    bytes += text(some, static_cast<std::size_t>(count));
  }
  return bytes;
}

void GrpcClient::hear(std::string_view bytes) {
  const ssize_t taken = nghttp2_session_mem_recv(
      session_.get(), reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (taken < 0) throw std::runtime_error(nghttp2_strerror(static_cast<int>(taken)));
}

std::string written(server::Dialogue& dialogue) {
  std::string all;
  for (;;) {
    std::string some;
    dialogue.write(some, std::size_t{16} << 10);
    if (some.empty()) return all;
    all += some;
  }
}

void converse(GrpcClient& client, server::Dialogue& dialogue) {
  for (;;) {
    const std::string asked = client.said();
    if (!asked.empty() && !dialogue.ended()) dialogue.receive(asked);
    const std::string answered = written(dialogue);
    if (!answered.empty()) client.hear(answered);
    if (asked.empty() && answered.empty()) return;
  }
}

// ---- By hand ----

std::string four_bytes(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
  return bytes;
}

std::string frame(const FrameHead& head, std::string_view payload) {
  std::string bytes = four_bytes(static_cast<std::uint32_t>(payload.size())).substr(1);
  bytes += static_cast<char>(head.type);
  bytes += static_cast<char>(head.flags);
  return bytes + four_bytes(static_cast<std::uint32_t>(head.stream)) + std::string(payload);
}

std::string plain_block(const HeaderList& fields) {
  std::string block;
  const auto write = [&block](const std::string& part) {
    // A length of seven bits, and what is above them in one or two bytes more.
    const std::size_t length = part.size();
    block += static_cast<char>(std::min<std::size_t>(length, 127));
    if (length >= 127) {
      std::size_t rest = length - 127;
      for (; rest >= 128; rest /= 128) block += static_cast<char>(rest % 128 + 128);
      block += static_cast<char>(rest);
    }
    block += part;
  };
  for (const auto& [name, value] : fields) {
    block += '\0';
    write(name);
    write(value);
  }
  return block;
}

std::vector<SentFrame> frames_of(std::string_view bytes) {
  std::vector<SentFrame> frames;
  while (bytes.size() >= 9) {
    const std::size_t length = number(bytes.substr(0, 3));
    frames.push_back({{.type = static_cast<std::uint8_t>(bytes[3]),
                       .flags = static_cast<std::uint8_t>(bytes[4]),
                       .stream = static_cast<std::int32_t>(number(bytes.substr(5, 4)))},
                      std::string(bytes.substr(9, length))});
    bytes.remove_prefix(std::min(bytes.size(), 9 + length));
  }
  return frames;
}

std::optional<std::uint32_t> goaway_of(std::string_view bytes) {
  std::optional<std::uint32_t> code;
  for (const SentFrame& sent : frames_of(bytes)) {
    if (sent.head.type == NGHTTP2_GOAWAY)
      code = number(std::string_view(sent.payload).substr(4, 4));
  }
  return code;
}

}  // namespace weir::test
