// What a session does otherwise where answers come later.
//
// They are written as soon as all before them are, also while the next commands are read: then what
// goes on is left alone, unless the client does not take them. A session reads no more while it
// awaits as many as a pipeline may have.
#include <boost/asio/post.hpp>
#include <cerrno>
#include <utility>

#include "server/session.hpp"

namespace weir::server {
namespace {

/// Every answer comes sooner: one that has not is lost, with all behind it.
constexpr std::uint64_t longest_wait_s = 15;

}  // namespace

/// What answers hold of a session.
class Session::Address final : public ReturnAddress,
                               public std::enable_shared_from_this<Session::Address> {
 public:
  explicit Address(Session& session)
      : ReturnAddress(session.connection_.replies), session_(session), io_(session.worker_.io_) {}

  bool here() const override { return io_.get_executor().running_in_this_thread(); }

  void post(std::function<void()> action) override { boost::asio::post(io_, std::move(action)); }

 private:
  /// Answers that came together leave together.
  void ready() override {
    if (told_) return;
    boost::asio::post(io_, [self = shared_from_this()] {
      self->told_ = false;
      if (!self->is_gone()) self->session_.answers_came();
    });
    told_ = true;
  }

  Session& session_;  ///< until it is gone
  boost::asio::io_context& io_;
  bool told_ = false;
};

void Session::receive_answers() { connection_.address = std::make_shared<Address>(*this); }

void Session::wait_for_answers(Ptr session) {
  Session* const key = session.get();
  key->worker_.waiting_.emplace(key, std::move(session));
}

void Session::answers_came() {
  answered_at_ = worker_.seconds_;
  if (auto waiting = worker_.waiting_.extract(this)) {
    Ptr session = std::move(waiting.mapped());
    if (!finishing_) go_on(std::move(session));
    return;
  }
  if (writing_ || finishing_ || write()) return;
  if (errno != EAGAIN && errno != EWOULDBLOCK) return cut_off();
  stuck_ = true;
  interrupt();
}

/// The client sends no more, and may still take the answers: those that are awaited, and those that
/// have come and are about to be sent.
void Session::end_of_input(Ptr session) {
  if (!session->awaits_answers() && session->connection_.replies.ready().empty()) return;
  session->connection_.closing = true;
  go_on(std::move(session));
}

/// Of a session that may be waiting for answers alone: nothing else would end it.
void Session::end_waiting() {
  boost::asio::post(worker_.io_, [&worker = worker_, key = this] {
    const auto waiting = worker.waiting_.find(key);
    if (waiting != worker.waiting_.end() && waiting->second->finishing_) {
      worker.waiting_.erase(waiting);
    }
  });
}

/// At each tick. False where the session waits for answers, and for nothing that the client does.
bool Session::notice_lost_answers() {
  if (!awaits_answers()) {
    answered_at_ = worker_.seconds_;
    return true;
  }
  if (worker_.seconds_ - answered_at_ >= longest_wait_s) {
    cut_off();
    return false;
  }
  if (writing_ || finishing_) return true;
  waiting_since_ = worker_.seconds_;
  return false;
}

}  // namespace weir::server
