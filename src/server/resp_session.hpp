// One RESP connection.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "server/session.hpp"

namespace weir::server {

/// Reads commands, answers them in order; answers from a store come later: resp_session_later.cpp.
class RespSession final : public Session {
 public:
  RespSession(Worker& worker, Socket socket, Arrival& arrival);
  ~RespSession() override;

 private:
  class Address;

  Next answer_and_write() override;
  std::span<char> room() override;
  void received(std::size_t bytes) override;
  bool ends_with_answers() override;
  bool write_answers() override { return write(connection_.replies.ready()); }
  bool holds_partial() const override { return begin_ < end_; }
  bool is_stranger() const override;
  bool notice_lost_answers() override;
  void tell_stalled() const override;

  bool awaits_answers() const noexcept { return connection_.replies.held_up() > 0; }
  void receive_answers();
  void answers_have_come();
  void answer();
  std::size_t parse_ahead(wire::ParsedRequest& last);
  void answer_stranger();
  void note_refusal(wire::RequestFault fault, std::string_view reason);
  void count_turn();
  void make_room();

  Connection connection_;

  std::vector<char> input_;
  std::size_t begin_ = 0;   ///< of the input that is not answered
  std::size_t end_ = 0;     ///< of the input that has arrived
  std::size_t needed_ = 1;  ///< bytes from begin_ below which no command can be complete
  bool hungry_ = false;     ///< all complete commands are answered

  std::uint64_t answered_at_ = 0;  ///< the second the last answer came that came later
};

}  // namespace weir::server
