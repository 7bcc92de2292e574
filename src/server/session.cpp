#include "server/session.hpp"

#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <utility>

#include "server/commands.hpp"

namespace weir::server {
namespace {

constexpr std::uint64_t sampled_batch = 32;  ///< of so many, one is timed: clocks are not free
constexpr std::size_t input_at_first = std::size_t{4} << 10;
constexpr std::size_t input_at_ease = std::size_t{64} << 10;  ///< shrunk to after a larger frame

using boost::system::error_code;

/// The limit that a request was above, if it was that.
std::optional<LimitHit> limit_of(wire::RequestFault fault) {
  switch (fault) {
    case wire::RequestFault::too_many_arguments: return LimitHit::arguments;
    case wire::RequestFault::argument_too_long: return LimitHit::argument_bytes;
    case wire::RequestFault::frame_too_long: return LimitHit::frame_bytes;
    case wire::RequestFault::inline_too_long: return LimitHit::inline_bytes;
    default: return {};
  }
}

}  // namespace

Session::Session(Worker& worker, Socket socket, Arrival arrival)
    : worker_(worker),
      socket_(std::move(socket)),
      seat_(std::move(arrival.seat)),
      input_(input_at_first) {
  if (arrival.tls) tls_.emplace(arrival.tls, socket_.native_handle());
  worker_.sessions_.insert(this);
  connection_.id = worker_.service_.next_connection.fetch_add(1, std::memory_order_relaxed);
  connection_.peer = std::move(arrival.peer);
  connection_.authenticated = !worker_.service_.password.required();
  stranger_since_ = waiting_since_ = worker_.seconds_;
  if (worker_.service_.store) receive_answers();
}

Session::~Session() {
  if (connection_.address) connection_.address->gone();
  worker_.sessions_.erase(this);
  if (lingers_) worker_.lingering_.fetch_sub(1, std::memory_order_relaxed);
  worker_.metrics_.closed.add(1);
}

void Session::start(Ptr session) {
  error_code ignored;
  session->socket_.non_blocking(true, ignored);
  if (session->tls_) return shake_hands(std::move(session));
  read(std::move(session));
}

void Session::interrupt() {
  error_code ignored;
  socket_.cancel(ignored);
}

/// Whether it has not shown yet what it must: its part of the handshake, the password.
bool Session::is_stranger() const {
  return !connection_.authenticated || (tls_ && !tls_->established());
}

void Session::tick() {
  if (!is_stranger()) {
    stranger_since_ = worker_.seconds_;
  } else if (!finishing_ &&
             worker_.seconds_ - stranger_since_ >=
                 static_cast<std::uint64_t>(worker_.limits_.unauthenticated.count())) {
    worker_.metrics_.gave_up(WireFault::unauthenticated);
    worker_.metrics_.hit(LimitHit::auth_timeout);
    return cut_off();
  }
  if (!notice_lost_answers()) return;
  // Of a TLS record that began the session sees nothing yet.
  const bool partial = begin_ < end_ || (tls_ && tls_->holds_input());
  if (!writing_ && !partial && !finishing_) {
    waiting_since_ = worker_.seconds_;
    return;
  }
  const auto& limits = worker_.limits_;
  const auto patience = writing_     ? limits.stalled_write
                        : finishing_ ? limits.drain
                                     : limits.partial_frame;
  if (worker_.seconds_ - waiting_since_ < static_cast<std::uint64_t>(patience.count())) return;
  if (!finishing_) {
    worker_.metrics_.gave_up(WireFault::stalled);
    worker_.metrics_.hit(writing_ ? LimitHit::write_timeout : LimitHit::command_timeout);
    worker_.service_.log.write(LogKind::stalled_client,
                               {{"client", connection_.peer},
                                {"name", connection_.name},
                                {"waits_to", writing_ ? "read" : "write"}});
  }
  cut_off();
}

/// The handler of what goes on sees the socket shut down and ends the session.
void Session::cut_off() {
  finishing_ = true;
  error_code ignored;
  socket_.shutdown(Socket::shutdown_both, ignored);
  socket_.cancel(ignored);
  if (awaits_answers()) end_waiting();
}

void Session::read(Ptr session) {
  Session& self = *session;
  if (self.tls_) return read_tls(std::move(session));
  self.make_room();
  const auto free =
      boost::asio::buffer(self.input_.data() + self.end_, self.input_.size() - self.end_);
  self.socket_.async_read_some(
      free, [session = std::move(session)](error_code error, std::size_t received) mutable {
        if (error && !session->interrupted(error)) {
          if (error == boost::asio::error::eof) end_of_input(std::move(session));
          return;  // the client is gone; so is the session with this handler
        }
        session->end_ += received;
        session->hungry_ = false;
        go_on(std::move(session));
      });
}

/// Whether it was the server that ended what went on, not the client.
bool Session::interrupted(const error_code& error) const {
  return error == boost::asio::error::operation_aborted && (worker_.draining_ || stuck_) &&
         !finishing_;
}

void Session::go_on(Ptr session) {
  session->stuck_ = false;
  switch (session->answer_and_write()) {
    case Next::read: return read(std::move(session));
    case Next::write: return wait_to_write(std::move(session));
    case Next::take_turns: return take_turns(std::move(session));
    case Next::wait_for_answers: return wait_for_answers(std::move(session));
    case Next::close: return close(std::move(session));
  }
}

/// Goes on once the other clients of this worker had their turn.
void Session::take_turns(Ptr session) {
  Session& self = *session;
  boost::asio::post(self.worker_.io_, [session = std::move(session)]() mutable {
    if (!session->finishing_) go_on(std::move(session));
  });
}

void Session::wait_to_write(Ptr session) {
  Session& self = *session;
  self.writing_ = true;
  self.waiting_since_ = self.worker_.seconds_;
  self.socket_.async_wait(Socket::wait_write,
                          [session = std::move(session)](error_code error) mutable {
                            session->writing_ = false;
                            if (session->interrupted(error)) {
                              return wait_to_write(std::move(session));
                            }
                            if (!error && !session->finishing_) go_on(std::move(session));
                          });
}

/// Says that nothing more will come, and waits for the client to close: closing with unread input
/// would reset the connection and take the last replies with it.
void Session::close(Ptr session) {
  error_code error;
  session->finishing_ = true;
  session->lingers_ = true;
  session->worker_.lingering_.fetch_add(1, std::memory_order_relaxed);
  session->waiting_since_ = session->worker_.seconds_;
  if (session->tls_) session->tls_->finish();
  session->socket_.shutdown(Socket::shutdown_send, error);
  if (!error) discard(std::move(session));
}

void Session::discard(Ptr session) {
  Session& self = *session;
  self.begin_ = self.end_ = 0;
  self.socket_.async_read_some(
      boost::asio::buffer(self.input_),
      [session = std::move(session)](error_code error, std::size_t) mutable {
        if (!error) discard(std::move(session));
      });
}

Session::Next Session::answer_and_write() {
  for (;;) {
    if (!hungry_ && !connection_.closing) {
      if (!connection_.authenticated) answer_stranger();
      if (connection_.authenticated) answer();
      if (!hungry_) count_turn();
    }
    if (!write()) return errno == EAGAIN || errno == EWOULDBLOCK ? Next::write : Next::close;
    if (connection_.closing) return awaits_answers() ? Next::wait_for_answers : Next::close;
    if (!hungry_) {
      return connection_.replies.held_up() < worker_.limits_.pipeline ? Next::take_turns
                                                                      : Next::wait_for_answers;
    }
    if (!worker_.draining_) return Next::read;
    if (!receive_rest()) return awaits_answers() ? Next::wait_for_answers : Next::close;
  }
}

/// Answers the complete commands at hand, as far as the output has room.
void Session::answer() {
  CommandContext& context = worker_.context_;
  context.connection = &connection_;
  context.now = worker_.service_.clock.now();
  // A command awaits one reply at most; EXEC those of as many as fit into a transaction.
  const std::size_t held_up = connection_.replies.held_up();
  context.turn = worker_.limits_.pipeline - std::min(worker_.limits_.pipeline, held_up);
  std::uint64_t answered = 0;
  hungry_ = true;
  for (bool more = true; more && !connection_.closing;) {
    wire::ParsedRequest last;
    const std::size_t count = parse_ahead(last);
    more = count == worker_.ahead_.size() || last.status == wire::RequestStatus::complete;
    for (std::size_t at = 0; at < count && !connection_.closing; ++at) {
      if (connection_.replies.bytes() >= worker_.limits_.output_bytes || answered >= context.turn) {
        hungry_ = more = false;
        needed_ = 1;  // those left are parsed again
        break;
      }
      Worker::Ahead& ahead = worker_.ahead_[at];
      begin_ = ahead.end;
      if (ahead.arguments.empty()) continue;
      wire::ReplyWriter reply(connection_.replies.tail(), connection_.protocol);
      run(ahead.call, context, ahead.arguments, reply);
      ++answered;
    }
    if (hungry_ && !connection_.closing && last.status == wire::RequestStatus::malformed) {
      const std::string reason = worker_.parser_.explain(last);
      note_refusal(last.fault, reason);
      wire::ReplyWriter(connection_.replies.tail(), connection_.protocol)
          .error("ERR Protocol error: " + reason);
      connection_.closing = true;
    }
  }
  if (answered == 0) return;
  waiting_since_ = worker_.seconds_;
  worker_.metrics_.commands.add(answered);
  if (++worker_.batches_ % sampled_batch == 0) {
    const std::chrono::duration<double> all = worker_.service_.clock.now() - context.now;
    worker_.metrics_.durations.took(all / static_cast<double>(answered), answered);
  }
}

/// Parses the next commands; returns how many are complete, and what the parser said last.
std::size_t Session::parse_ahead(wire::ParsedRequest& last) {
  std::size_t count = 0;
  std::size_t at = begin_;
  last.status = wire::RequestStatus::incomplete;
  while (count < worker_.ahead_.size() && at + needed_ <= end_) {
    Worker::Ahead& ahead = worker_.ahead_[count];
    const std::string_view bytes(input_.data() + at, end_ - at);
    last = worker_.parser_.parse(bytes, ahead.arguments);
    if (last.status == wire::RequestStatus::incomplete) needed_ = last.needed;
    if (last.status != wire::RequestStatus::complete) break;
    needed_ = 1;
    ahead.end = at += last.consumed;
    if (!ahead.arguments.empty()) ahead.call = prepare(worker_.context_, ahead.arguments);
    ++count;
    // The words of an inline command lie in the parser and live until it parses again.
    if (bytes.front() != '*') break;
  }
  return count;
}

/// One command of a client that has not shown the password: no more in a turn, so that guesses cost
/// others little.
void Session::answer_stranger() {
  CommandContext& context = worker_.context_;
  context.connection = &connection_;
  hungry_ = begin_ + needed_ > end_;
  if (hungry_) return;
  const std::string_view bytes(input_.data() + begin_, end_ - begin_);
  wire::RequestParser& parser = worker_.strangers_parser_;
  const wire::ParsedRequest parsed = parser.parse(bytes, worker_.strangers_arguments_);
  if (parsed.status == wire::RequestStatus::incomplete) {
    needed_ = parsed.needed;
    hungry_ = true;
    return;
  }
  wire::ReplyWriter reply(connection_.replies.tail(), connection_.protocol);
  if (parsed.status == wire::RequestStatus::malformed) {
    const std::string reason = "unauthenticated: " + parser.explain(parsed);
    note_refusal(parsed.fault, reason);
    reply.error("ERR Protocol error: " + reason);
    connection_.closing = true;
    return;
  }
  begin_ += parsed.consumed;
  needed_ = 1;
  if (worker_.strangers_arguments_.empty()) return;
  run_before_password(context, worker_.strangers_arguments_, reply);
  waiting_since_ = worker_.seconds_;
  worker_.metrics_.commands.add(1);
}

void Session::note_refusal(wire::RequestFault fault, std::string_view reason) {
  worker_.service_.log.write(
      LogKind::malformed_request,
      {{"client", connection_.peer}, {"name", connection_.name}, {"reason", reason}});
  const auto limit = limit_of(fault);
  worker_.metrics_.gave_up(limit ? WireFault::too_large : WireFault::malformed);
  if (limit) worker_.metrics_.hit(*limit);
}

/// A turn that ended before all was answered.
void Session::count_turn() {
  if (connection_.replies.bytes() >= worker_.limits_.output_bytes) {
    worker_.metrics_.hit(LimitHit::output_bytes);
  } else if (connection_.authenticated && !connection_.closing) {
    worker_.metrics_.hit(LimitHit::pipeline);
  }
}

/// Writes what there is to write without waiting; false with errno where it cannot all go now.
bool Session::write() {
  if (tls_) return write_tls();
  const std::string& output = connection_.replies.ready();
  while (sent_ < output.size()) {
    const ssize_t count = ::send(socket_.native_handle(), output.data() + sent_,
                                 output.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count >= 0) {
      sent_ += static_cast<std::size_t>(count);
    } else if (errno != EINTR) {
      return false;
    }
  }
  forget_output();
  return true;
}

void Session::forget_output() {
  sent_ = 0;
  std::string& output = connection_.replies.ready();
  output.clear();
  if (output.capacity() > input_at_ease) output.shrink_to_fit();
}

/// While draining: takes what has already arrived; false when there is no more.
bool Session::receive_rest() {
  make_room();
  if (tls_) {
    const auto [step, received] = tls_->read(std::span(input_).subspan(end_));
    end_ += received;
    hungry_ = false;
    return step == TlsStream::Step::done;
  }
  const ssize_t count =
      ::recv(socket_.native_handle(), input_.data() + end_, input_.size() - end_, MSG_DONTWAIT);
  if (count <= 0) return false;
  end_ += static_cast<std::size_t>(count);
  hungry_ = false;
  return true;
}

/// Makes the input buffer hold at least what the command at its start needs, and one byte more.
void Session::make_room() {
  const bool was_full = end_ == input_.size();
  if (begin_ > 0) {
    std::memmove(input_.data(), input_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == 0) {
    if (input_.size() > input_at_ease) {
      input_.resize(input_at_first);
      input_.shrink_to_fit();
    } else if (was_full && input_.size() < input_at_ease) {
      input_.resize(input_.size() * 2);  // a deep pipeline: fewer, larger reads
    }
  }
  const std::size_t wanted = std::max(needed_, end_ + 1);
  if (input_.size() < wanted) input_.resize(std::max(wanted, input_.size() * 2));
}

}  // namespace weir::server
