// gRPC's calls on the streams of one HTTP/2 connection.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/dialogue.hpp"
#include "server/grpc/call_head.hpp"
#include "server/grpc/http2_limits.hpp"
#include "server/grpc/message_room.hpp"
#include "server/grpc/protocol.hpp"
#include "server/grpc/services.hpp"

namespace weir::server::grpc {

/// One call, from its first header field to its stream's end.
struct Call {
  std::int32_t stream = 0;
  CallHead head;
  std::unique_ptr<Conversation> conversation{};  ///< null: unary
  std::string input{};         ///< from the client and not yet a message that was heard
  std::string output{};        ///< for the client, framed
  std::size_t sent = 0;        ///< of it
  std::size_t lent = 0;        ///< bytes of the input for which the room is shared
  Status status{};             ///< once finished
  std::uint64_t since = 0;     ///< the second in which it began, or last could be written to
  std::uint64_t deadline = 0;  ///< the second in which an answer is no longer awaited
  std::size_t place = 0;       ///< among the calls
  bool begun = false;          ///< its header is complete
  bool heard_all = false;      ///< the client has ended its side
  bool told_end = false;       ///< and so does its conversation know
  bool answering = false;      ///< the answer's header is on its way
  bool finished = false;       ///< nothing is added to the answer
};

/// Takes in what clients send on their streams, hands messages to their methods, and sends answers.
///
/// Threads  the connection's
/// Memory   a Call each, at most Http2Limits::streams; of input request_bytes in all, since the
///          client's window for the connection opens again only with messages heard, or with room
///          that is lent for one that has not ended
/// Errors   bad_alloc
class Calls final : public Answering {
 public:
  /// All outlive it; there may be no watch.
  Calls(const Services& services, const Http2Limits& limits, MessageRoom& room, Http2Watch* watch,
        std::shared_ptr<Carrier> carrier);
  ~Calls() override;

  /// Requires a session that lives as long as this is used; by `write_answer` it comes to write().
  void speak_by(nghttp2_session* session, nghttp2_data_source_read_callback write_answer) noexcept {
    session_ = session;
    write_answer_ = write_answer;
  }

  // What the client does on a stream.
  void begin(std::int32_t stream);
  /// False: the list is far too long, and its stream to be reset.
  bool read_header(std::int32_t stream, std::string_view name, std::string_view value);
  void end_header(std::int32_t stream);
  void read_data(std::int32_t stream, std::string_view bytes);
  void hear_end(std::int32_t stream);
  void close(std::int32_t stream);

  /// Writes the next bytes of an answer's messages, as nghttp2_data_source_read_callback does.
  ssize_t write(Call& call, std::span<std::uint8_t> to, std::uint32_t& flags);

  /// What an answer was in the way of: to be called once there is room. Whether there is more.
  bool go_on();

  /// Once a second: ends what has taken too long. What the connection is to end for: the client
  /// does not end what it has begun, or lets nothing out.
  std::optional<Http2Limit> tick(std::uint64_t second);

  /// Has conversations say their last. Clients on gRPC's C core drop a message that comes together
  /// with the end of its call: so that comes later.
  void drain();

  /// What is unary is still answered.
  void end_conversations();

  bool empty() const noexcept { return calls_.empty(); }
  std::size_t size() const noexcept { return calls_.size(); }

  void send(std::int32_t stream, std::string_view message) override;
  void finish(std::int32_t stream, Status status) override;

  /// While it lives, answers come in the course of the dialogue: the carrier need not be told.
  class Course {
   public:
    explicit Course(Calls& calls) noexcept : calls_(calls) { calls_.in_course_ = true; }
    ~Course() { calls_.in_course_ = false; }
    Course(const Course&) = delete;
    Course& operator=(const Course&) = delete;

   private:
    Calls& calls_;
  };

 private:
  Call* at(std::int32_t stream) const;
  Reply reply(const Call& call) const;
  void hear_unary(Call& call);
  void hear_messages(Call& call);
  bool first_is_fit(Call& call, const FirstMessage& first);
  void lend_room(Call& call);
  void forget_input(Call& call, std::size_t bytes);
  void refuse(Call& call, Refusal refusal);
  void begin_answer(Call& call);
  void tell_carrier() const;
  std::optional<Http2Limit> tick_call(Call& call);
  void met(Http2Limit limit) const;

  const Services& services_;
  const Http2Limits& limits_;
  MessageRoom& room_;
  Http2Watch* watch_;
  std::shared_ptr<AnswerAddress> address_;
  nghttp2_session* session_ = nullptr;
  nghttp2_data_source_read_callback write_answer_ = nullptr;
  std::vector<std::unique_ptr<Call>> calls_;
  std::vector<std::unique_ptr<Call>> spare_;  ///< used up, kept to spare allocations
  std::uint64_t second_ = 0;
  bool in_course_ = false;
  bool waits_for_room_ = false;
};

}  // namespace weir::server::grpc
