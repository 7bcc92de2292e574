#include "server/session.hpp"

#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <utility>

namespace weir::server {
namespace {

using boost::system::error_code;

constexpr std::size_t output_at_ease = std::size_t{64} << 10;  ///< shrunk to after larger answers
/// What a client may have sent before it saw the end: the kernel's buffers hold little more.
constexpr std::size_t discarded_at_most = std::size_t{1} << 20;

}  // namespace

Session::Session(Worker& worker, Socket socket, Arrival& arrival)
    : worker_(worker),
      speaks_(arrival.speaks),
      socket_(std::move(socket)),
      seat_(std::move(arrival.seat)) {
  if (arrival.tls) {
    const TlsStream::Of of{.descriptor = socket_.native_handle(), .speaks = speaks_};
    tls_.emplace(arrival.tls, of);
  }
  worker_.sessions_.insert(this);
  stranger_since_ = waiting_since_ = worker_.seconds_;
  arrival.descriptor = -1;
}

Session::~Session() {
  worker_.sessions_.erase(this);
  if (lingers_) worker_.lingering_.fetch_sub(1, std::memory_order_relaxed);
  worker_.count_closed(speaks_);
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

bool Session::is_stranger() const { return tls_ && !tls_->established(); }

void Session::tick() {
  if (!is_stranger()) {
    stranger_since_ = worker_.seconds_;
  } else if (!finishing_ &&
             worker_.seconds_ - stranger_since_ >=
                 static_cast<std::uint64_t>(worker_.limits_.unauthenticated.count())) {
    worker_.metrics_.gave_up(WireFault::unauthenticated, speaks_);
    worker_.metrics_.hit(LimitHit::auth_timeout);
    return cut_off();
  }
  if (!notice_lost_answers()) return;
  // Of a TLS record that began the session sees nothing yet.
  const bool partial = holds_partial() || (tls_ && tls_->holds_input());
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
    worker_.metrics_.gave_up(WireFault::stalled, speaks_);
    worker_.metrics_.hit(writing_ ? LimitHit::write_timeout : LimitHit::command_timeout);
    tell_stalled();
  }
  cut_off();
}

void Session::cut_off() {
  finishing_ = true;
  error_code ignored;
  socket_.shutdown(Socket::shutdown_both, ignored);
  socket_.cancel(ignored);
  end_waiting();
}

void Session::read(Ptr session) {
  Session& self = *session;
  if (self.tls_) return read_tls(std::move(session));
  const std::span<char> room = self.room();
  self.socket_.async_read_some(
      boost::asio::buffer(room.data(), room.size()),
      [session = std::move(session)](error_code error, std::size_t bytes) mutable {
        if (error && !session->interrupted(error)) {
          if (error == boost::asio::error::eof) end_of_input(std::move(session));
          return;  // the client is gone; so is the session with this handler
        }
        session->received(bytes);
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

void Session::wait_for_answers(Ptr session) {
  Session* const key = session.get();
  key->worker_.waiting_.emplace(key, std::move(session));
}

void Session::answers_came() {
  if (auto waiting = worker_.waiting_.extract(this)) {
    Ptr session = std::move(waiting.mapped());
    if (!finishing_) go_on(std::move(session));
    return;
  }
  if (writing_ || finishing_ || (tls_ && !tls_->established())) return;
  if (!write_answers()) {
    if (errno != EAGAIN && errno != EWOULDBLOCK) return cut_off();
  } else if (!is_over()) {
    return;
  }
  stuck_ = true;
  interrupt();
}

/// The client sends no more, and may still take the answers: those that are awaited, and those that
/// have come and are about to be sent.
void Session::end_of_input(Ptr session) {
  if (session->ends_with_answers()) go_on(std::move(session));
}

/// Of a session that may be waiting for answers alone: nothing else would end it.
void Session::end_waiting() {
  if (!worker_.waiting_.contains(this)) return;
  boost::asio::post(worker_.io_, [&worker = worker_, key = this] {
    const auto waiting = worker.waiting_.find(key);
    if (waiting != worker.waiting_.end() && waiting->second->finishing_) {
      worker.waiting_.erase(waiting);
    }
  });
}

/// Says that nothing more will come, and waits for the client to close: closing with unread input
/// would reset the connection and take the last replies with it. Who goes on sending more than was
/// under way is cut off.
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
  self.socket_.async_wait(
      Socket::wait_read, [session = std::move(session)](error_code error) mutable {
        char waste[16'384];
        if (error) return;
        const ssize_t count =
            ::recv(session->socket_.native_handle(), waste, sizeof waste, MSG_DONTWAIT);
        if (count > 0) session->discarded_ += static_cast<std::size_t>(count);
        const bool more = count > 0 || (count < 0 && errno == EAGAIN);
        if (more && session->discarded_ < discarded_at_most) discard(std::move(session));
      });
}

bool Session::write(std::string& output) {
  if (tls_) {
    if (!write_tls(output)) return false;
  } else {
    while (sent_ < output.size()) {
      const ssize_t count = ::send(socket_.native_handle(), output.data() + sent_,
                                   output.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count >= 0) {
        sent_ += static_cast<std::size_t>(count);
      } else if (errno != EINTR) {
        return false;
      }
    }
  }
  sent_ = 0;
  output.clear();
  if (output.capacity() > output_at_ease) output.shrink_to_fit();
  return true;
}

bool Session::receive_rest() {
  const std::span<char> free = room();
  if (tls_) {
    const auto [step, bytes] = tls_->read(free);
    received(bytes);
    return step == TlsStream::Step::done;
  }
  const ssize_t count = ::recv(socket_.native_handle(), free.data(), free.size(), MSG_DONTWAIT);
  if (count <= 0) return false;
  received(static_cast<std::size_t>(count));
  return true;
}

}  // namespace weir::server
