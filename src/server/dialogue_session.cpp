#include "server/dialogue_session.hpp"

#include <cerrno>
#include <new>
#include <string_view>
#include <utility>

namespace weir::server {
namespace {

constexpr std::size_t input_at_first = std::size_t{4} << 10;
constexpr std::size_t input_at_most = std::size_t{16} << 10;
constexpr std::size_t output_at_once = std::size_t{64} << 10;

}  // namespace

/// What the dialogue holds of its session, perhaps for longer than it lives.
class DialogueSession::Post final : public Carrier,
                                    public std::enable_shared_from_this<DialogueSession::Post> {
 public:
  Post(DialogueSession& session, std::string peer)
      : Carrier(std::move(peer)), session_(&session), worker_(session.worker_) {}

  void post(std::function<void()> action) override {
    worker_.post([self = shared_from_this(), action = std::move(action)] { self->run(action); });
  }

  void resume() override {
    if (!session_ || told_) return;
    worker_.post([self = shared_from_this()] {
      self->told_ = false;
      self->run([session = self->session_] { session->answers_came(); });
    });
    told_ = true;
  }

  void gone() noexcept { session_ = nullptr; }

 private:
  /// Whoever runs out of memory loses the connection: the dialogue may have lost its thread.
  template <typename Action>
  void run(const Action& action) {
    if (!session_) return;
    try {
      action();
    } catch (const std::bad_alloc&) {
      if (session_) session_->cut_off();
      throw;
    }
  }

  DialogueSession* session_;  ///< null once it is gone; of the session's thread alone
  Worker& worker_;
  bool told_ = false;  ///< answers that came together leave together
};

DialogueSession::DialogueSession(Worker& worker, Socket socket, Arrival& arrival,
                                 const DialogueMaker& maker)
    : Session(worker, std::move(socket), arrival),
      post_(std::make_shared<Post>(*this, std::move(arrival.peer))),
      dialogue_(maker(post_)),
      input_(input_at_first) {}

DialogueSession::~DialogueSession() { post_->gone(); }

void DialogueSession::tick() {
  Session::tick();
  if (is_stranger() || finishing_) return;
  try {
    dialogue_->tick();
    post_->resume();
  } catch (const std::bad_alloc&) {
    cut_off();
    throw;
  }
}

Session::Next DialogueSession::answer_and_write() {
  if (worker_.draining_ && !drains_) drain();
  if (!write_answers()) {
    return errno == EAGAIN || errno == EWOULDBLOCK ? Next::write : Next::close;
  }
  if (dialogue_->ended()) return Next::close;
  return dialogue_->wants_input() && !input_ended_ ? Next::read : Next::wait_for_answers;
}

/// What has arrived is taken on; nothing after it.
void DialogueSession::drain() {
  // As many as fit into a socket's buffer: a client that goes on sending does not hold it up.
  for (int more = 16; more > 0 && dialogue_->wants_input() && !dialogue_->ended(); --more) {
    if (!receive_rest()) break;
  }
  drains_ = true;
  dialogue_->drain();
}

bool DialogueSession::write_answers() {
  for (;;) {
    if (output_.size() < output_at_once) dialogue_->write(output_, output_at_once);
    if (output_.empty()) return true;
    if (!write(output_)) return false;
  }
}

std::span<char> DialogueSession::room() { return input_; }

void DialogueSession::received(std::size_t bytes) {
  if (bytes == 0) return;
  const bool sampled = ++worker_.batches_ % Worker::sampled_batch == 0;
  const Instant began = sampled ? worker_.service_.clock.now() : Instant();
  const Counter& asked = worker_.metrics_.asked_by(speaks_);
  const std::uint64_t before = asked.value();
  dialogue_->receive({input_.data(), bytes});
  if (const std::uint64_t many = asked.value() - before; sampled && many > 0) {
    worker_.metrics_.took(speaks_, worker_.service_.clock.now() - began, many);
  }
  if (bytes == input_.size() && bytes < input_at_most) input_.resize(bytes * 2);
}

bool DialogueSession::ends_with_answers() {
  input_ended_ = true;
  drains_ = true;
  dialogue_->hear_end();
  return true;
}

void DialogueSession::tell_stalled() const {
  worker_.service_.log.write(LogKind::stalled_client, {{"client", post_->peer()},
                                                       {"name", std::string_view{}},
                                                       {"waits_to", writing_ ? "read" : "write"}});
}

}  // namespace weir::server
