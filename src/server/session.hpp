// One RESP connection.
#pragma once

#include <boost/system/error_code.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/worker.hpp"

namespace weir::server {

/// Reads commands, answers them in order, writes. At any time exactly one thing goes on: the TLS
/// handshake, a read, a wait for room to write, a wait for its next turn, or the last wait before
/// the end; its handler owns the session. Or nothing does but the wait for answers that come later,
/// and the worker owns it. Answers also come while something goes on: session_later.cpp.
class Session {
 public:
  using Ptr = std::unique_ptr<Session>;

  /// The socket is that of the arrival.
  Session(Worker& worker, Socket socket, Arrival arrival);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  static void start(Ptr session);

  /// Ends what goes on, so that the session sees that its worker drains.
  void interrupt();

  /// Once a second, with the worker's count of seconds.
  void tick();

 private:
  /// What comes next once everything at hand is answered and written.
  enum class Next : std::uint8_t { read, write, take_turns, wait_for_answers, close };
  class Address;

  static void shake_hands(Ptr session);
  static void go_on(Ptr session);
  static void read(Ptr session);
  static void read_tls(Ptr session);
  static void receive_tls(Ptr session);
  static void take_turns(Ptr session);
  static void wait_to_write(Ptr session);
  static void wait_for_answers(Ptr session);
  static void end_of_input(Ptr session);
  static void close(Ptr session);
  static void discard(Ptr session);

  bool interrupted(const boost::system::error_code& error) const;
  void receive_answers();
  void answers_came();
  void end_waiting();
  bool notice_lost_answers();
  bool awaits_answers() const noexcept { return connection_.replies.held_up() > 0; }
  Next answer_and_write();
  void answer();
  std::size_t parse_ahead(wire::ParsedRequest& last);
  void answer_stranger();
  void note_refusal(wire::RequestFault fault, std::string_view reason);
  void count_turn();
  bool write();
  bool write_tls();
  void forget_output();
  bool receive_rest();
  bool is_stranger() const;
  void cut_off();
  void make_room();

  Worker& worker_;
  Socket socket_;
  ClientAddresses::Seat seat_;
  std::optional<TlsStream> tls_;  ///< absent where the client speaks plainly
  Connection connection_;

  std::vector<char> input_;
  std::size_t begin_ = 0;   ///< of the input that is not answered
  std::size_t end_ = 0;     ///< of the input that has arrived
  std::size_t needed_ = 1;  ///< bytes from begin_ below which no command can be complete
  bool hungry_ = false;     ///< all complete commands are answered

  std::size_t sent_ = 0;  ///< of the replies that are ready

  std::uint64_t stranger_since_ = 0;  ///< the second it came; moves on once it is trusted
  std::uint64_t waiting_since_ = 0;   ///< the second a write or a partial command began to wait
  std::uint64_t answered_at_ = 0;     ///< the second the last answer came that came later
  bool writing_ = false;
  bool stuck_ = false;      ///< what goes on was ended, so that the session waits to write
  bool finishing_ = false;  ///< nothing more is answered
  bool lingers_ = false;    ///< all is sent; waits for the client to close
};

}  // namespace weir::server
