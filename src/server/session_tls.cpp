// What a session does otherwise where the client speaks TLS.
#include <boost/asio/post.hpp>
#include <cerrno>
#include <utility>

#include "server/session.hpp"

namespace weir::server {

using boost::system::error_code;

void Session::shake_hands(Ptr session) {
  Session& self = *session;
  const TlsStream::Step step = self.tls_->handshake();
  if (step == TlsStream::Step::done) return read(std::move(session));
  if (step == TlsStream::Step::ended) {
    self.worker_.metrics_.gave_up(WireFault::tls, self.speaks_);
    return close(std::move(session));  // so that the client gets the alert that says why
  }
  self.socket_.async_wait(
      step == TlsStream::Step::wants_read ? Socket::wait_read : Socket::wait_write,
      [session = std::move(session)](error_code error) mutable {
        if (!error && !session->finishing_) shake_hands(std::move(session));
      });
}

void Session::read_tls(Ptr session) {
  Session& self = *session;
  if (self.tls_->holds_input()) {
    boost::asio::post(self.worker_.io_, [session = std::move(session)]() mutable {
      if (!session->finishing_) receive_tls(std::move(session));
    });
    return;
  }
  self.socket_.async_wait(Socket::wait_read,
                          [session = std::move(session)](error_code error) mutable {
                            if (error && !session->interrupted(error)) return;
                            if (!session->finishing_) receive_tls(std::move(session));
                          });
}

void Session::receive_tls(Ptr session) {
  Session& self = *session;
  const auto [step, bytes] = self.tls_->read(self.room());
  if (step == TlsStream::Step::ended) return end_of_input(std::move(session));
  if (step == TlsStream::Step::done || self.worker_.draining_ || self.stuck_) {
    self.received(bytes);
    return go_on(std::move(session));
  }
  self.socket_.async_wait(
      step == TlsStream::Step::wants_read ? Socket::wait_read : Socket::wait_write,
      [session = std::move(session)](error_code error) mutable {
        if (error && !session->interrupted(error)) return;
        if (!session->finishing_) receive_tls(std::move(session));
      });
}

bool Session::write_tls(std::string& output) {
  while (sent_ < output.size()) {
    const auto [step, bytes] = tls_->write(std::string_view(output).substr(sent_));
    sent_ += bytes;
    if (step != TlsStream::Step::done) {
      errno = step == TlsStream::Step::wants_write ? EAGAIN : EPIPE;
      return false;
    }
  }
  return true;
}

}  // namespace weir::server
