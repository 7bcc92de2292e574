// One connection and its socket, whatever is spoken on it.
#pragma once

#include <boost/system/error_code.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "server/worker.hpp"

namespace weir::server {

/// Reads, has what was read answered, writes. At any time exactly one thing goes on: the TLS
/// handshake, a read, a wait for room to write, a wait for its next turn, or the last wait before
/// the end; its handler owns the session. Or nothing does but the wait for answers that come later,
/// and the worker owns it. Such answers also come while something goes on: then they are sent, and
/// what goes on is left alone, unless the client does not take them.
class Session {
 public:
  using Ptr = std::unique_ptr<Session>;

  virtual ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  static void start(Ptr session);

  /// Ends what goes on, so that the session sees that its worker drains.
  void interrupt();

  /// Once a second, with the worker's count of seconds.
  virtual void tick();

 protected:
  /// What comes next once everything at hand is answered and written.
  enum class Next : std::uint8_t { read, write, take_turns, wait_for_answers, close };

  /// The socket is that of the arrival, which has none from then on.
  Session(Worker& worker, Socket socket, Arrival& arrival);

  /// Answers what has arrived and sends the answers, as far as that goes now.
  virtual Next answer_and_write() = 0;
  /// Where the next bytes go, at least one; then how many came. Others may ask for it again before.
  virtual std::span<char> room() = 0;
  virtual void received(std::size_t bytes) = 0;
  /// The client sends no more. Whether it may still take something.
  virtual bool ends_with_answers() = 0;
  /// Sends the answers that have come; false with errno where they cannot all go now.
  virtual bool write_answers() = 0;
  /// Whether the connection ends once all answers are written, though nothing was read.
  virtual bool is_over() const { return false; }
  /// Whether a message began that is not whole.
  virtual bool holds_partial() const = 0;
  /// Whether it has not shown yet what it must.
  virtual bool is_stranger() const;
  /// At a tick. False where the session waits for answers, and for nothing that the client does.
  virtual bool notice_lost_answers() { return true; }
  virtual void tell_stalled() const = 0;

  /// Writes `output` without waiting and clears it; false with errno where it cannot all go now:
  /// what is left is sent by the next call, which may come with more behind it.
  bool write(std::string& output);
  /// What has arrived already, without waiting; false when there is no more.
  bool receive_rest();
  /// Answers that come later have come.
  void answers_came();
  /// The handler of what goes on sees the socket shut down and ends the session.
  void cut_off();

  Worker& worker_;
  const Speaks speaks_;
  std::uint64_t stranger_since_ = 0;  ///< the second it came; moves on once it is trusted
  std::uint64_t waiting_since_ = 0;   ///< the second a write or a partial message began to wait
  bool writing_ = false;
  bool finishing_ = false;  ///< nothing more is answered

 private:
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
  void end_waiting();
  bool write_tls(std::string& output);

  Socket socket_;
  ClientAddresses::Seat seat_;
  std::optional<TlsStream> tls_;  ///< absent where the client speaks plainly
  std::size_t sent_ = 0;          ///< of the output
  bool stuck_ = false;            ///< what goes on was ended, so that the session waits to write
  bool lingers_ = false;          ///< all is sent; waits for the client to close
  std::size_t discarded_ = 0;     ///< of what came since
};

}  // namespace weir::server
