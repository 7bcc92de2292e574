// A client of gRPC in memory, and frames of HTTP/2 by hand.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/dialogue.hpp"

namespace weir::test {

using HeaderList = std::vector<std::pair<std::string, std::string>>;

/// A message as it goes over a stream.
std::string framed(std::string_view message, char flag = 0);

/// The header of a gRPC call, with more fields behind it.
HeaderList call_header(const std::string& path, const HeaderList& more = {});

/// What has come of one call.
struct Heard {
  std::map<std::string, std::string> header{};
  std::map<std::string, std::string> trailer{};  ///< with the header's, where there is one list
  std::string body{};
  bool ended = false;
  std::optional<std::uint32_t> closed_by{};  ///< the stream's error code

  int code() const;  ///< grpc-status, or -1
  std::string message() const { return field("grpc-message"); }
  std::string field(const std::string& name) const;
  std::vector<std::string> messages() const;
};

/// The client's end: what it says piles up in said(), what it hears is told by call.
class GrpcClient {
 public:
  GrpcClient();

  /// Begins a call; its body is given at once and ends it.
  std::int32_t call(const HeaderList& header, const std::string& body);
  /// Begins a call that stays open.
  std::int32_t open(const HeaderList& header, const std::string& body);
  void say(std::int32_t stream, const std::string& body);
  void end(std::int32_t stream);
  void reset(std::int32_t stream, std::uint32_t code = NGHTTP2_CANCEL);
  /// A window that this client opens no further.
  void close_window();

  /// Bytes for the server since the last time.
  std::string said();
  void hear(std::string_view bytes);

  const Heard& heard(std::int32_t stream) { return heard_[stream]; }
  /// The last GOAWAY.
  std::optional<std::uint32_t> goaway() const { return goaway_; }
  const std::vector<std::int32_t>& goaway_streams() const { return goaway_streams_; }

 private:
  struct Callbacks;
  struct Saying {
    std::string bytes{};
    bool ends = false;
  };
  struct Delete {
    void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
  };

  std::int32_t submit(const HeaderList& header, Saying saying);

  std::unique_ptr<nghttp2_session, Delete> session_;
  std::map<std::int32_t, Saying> sayings_;
  std::map<std::int32_t, Heard> heard_;
  std::optional<std::uint32_t> goaway_;
  std::vector<std::int32_t> goaway_streams_;
};

/// Who carries a dialogue in a test: what is posted waits until the test runs it.
class QueueCarrier final : public server::Carrier {
 public:
  void post(std::function<void()> action) override { posted.push_back(std::move(action)); }
  void resume() override { ++resumed; }

  void run_posted() {
    for (const auto& action : std::exchange(posted, {})) action();
  }

  std::deque<std::function<void()>> posted;
  int resumed = 0;
};

/// All that the dialogue has to send now.
std::string written(server::Dialogue& dialogue);

/// Brings bytes to and fro until both are silent.
void converse(GrpcClient& client, server::Dialogue& dialogue);

// ---- By hand ----

struct FrameHead {
  std::uint8_t type;
  std::uint8_t flags = 0;
  std::int32_t stream = 0;
};

inline constexpr std::string_view preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

std::string frame(const FrameHead& head, std::string_view payload);
/// A number as HTTP/2 writes it, in four bytes.
std::string four_bytes(std::uint32_t number);
/// Fields as HPACK writes them that has neither table nor Huffman.
std::string plain_block(const HeaderList& fields);

/// Frames that a server has sent.
struct SentFrame {
  FrameHead head;
  std::string payload;
};
std::vector<SentFrame> frames_of(std::string_view bytes);
/// The error code of the last GOAWAY among them.
std::optional<std::uint32_t> goaway_of(std::string_view bytes);

}  // namespace weir::test
