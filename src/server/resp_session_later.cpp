// What a session does otherwise where answers come later.
//
// They are written as soon as all before them are, also while the next commands are read: then what
// goes on is left alone, unless the client does not take them. A session reads no more while it
// awaits as many as a pipeline may have.
#include <utility>

#include "server/resp_session.hpp"

namespace weir::server {
namespace {

/// Every answer comes sooner: one that has not is lost, with all behind it.
constexpr std::uint64_t longest_wait_s = 15;

}  // namespace

/// What answers hold of a session.
class RespSession::Address final : public ReturnAddress,
                                   public std::enable_shared_from_this<RespSession::Address> {
 public:
  explicit Address(RespSession& session)
      : ReturnAddress(session.connection_.replies), session_(session), worker_(session.worker_) {}

  bool here() const override { return worker_.here(); }

  void post(std::function<void()> action) override { worker_.post(std::move(action)); }

 private:
  /// Answers that came together leave together.
  void ready() override {
    if (told_) return;
    worker_.post([self = shared_from_this()] {
      self->told_ = false;
      if (!self->is_gone()) self->session_.answers_have_come();
    });
    told_ = true;
  }

  RespSession& session_;  ///< until it is gone
  Worker& worker_;
  bool told_ = false;
};

void RespSession::receive_answers() { connection_.address = std::make_shared<Address>(*this); }

void RespSession::answers_have_come() {
  answered_at_ = worker_.seconds_;
  answers_came();
}

bool RespSession::ends_with_answers() {
  if (!awaits_answers() && connection_.replies.ready().empty()) return false;
  connection_.closing = true;
  return true;
}

bool RespSession::notice_lost_answers() {
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
