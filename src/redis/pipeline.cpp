#include "redis/pipeline.hpp"

#include <algorithm>
#include <utility>

namespace weir::redis {

const char* name(CallOutcome outcome) noexcept {
  constexpr const char* names[] = {"answered", "timed_out", "not_sent", "indeterminate"};
  return names[static_cast<std::uint8_t>(outcome)];
}

bool Pipeline::send(const Call& call) {
  if (in_flight_ >= settings_.calls) return false;
  if (call.bytes.size() > settings_.bytes - unsent_.size()) return false;
  unsent_ += call.bytes;
  call_at(in_flight_++) = {.id = call.id,
                           .bytes = call.bytes.size(),
                           .deadline_at = call.deadline_at,
                           .commands = call.commands};
  next_deadline_at_ = std::min(next_deadline_at_, call.deadline_at);
  return true;
}

void Pipeline::take_output(std::string& out) {
  out.clear();
  std::swap(out, unsent_);
  sent_ = in_flight_;
}

Pipeline::Heard Pipeline::hear(std::string_view bytes, std::vector<Ended>& ended) {
  Heard heard{.fault = fault_};
  while (!bytes.empty() && heard.fault == Fault::none) {
    const wire::ReadReply read = reader_.read(bytes, reply_);
    if (read.status == wire::ReadStatus::malformed) {
      heard.fault = Fault::malformed;
      heard.reply_fault = read.fault;
      break;
    }
    bytes.remove_prefix(read.consumed);
    if (read.status == wire::ReadStatus::incomplete) break;
    if (reply_.type == wire::ReplyType::push) {
      heard.pushes.push_back(std::exchange(reply_, {}));
      continue;
    }
    if (!take_reply(heard, ended)) {
      heard.fault = Fault::unasked;
      heard.unasked = std::move(reply_);
    }
  }
  fault_ = heard.fault;
  return heard;
}

/// The next reply belongs to the oldest call, which must have been sent.
bool Pipeline::take_reply(Heard& heard, std::vector<Ended>& ended) {
  if (sent_ == 0) return false;
  Waiting& oldest = call_at(0);
  if (--oldest.commands > 0) return true;
  if (oldest.ended) {
    ++heard.late;
  } else {
    ended.push_back({oldest.id, CallOutcome::answered, std::exchange(reply_, {})});
  }
  oldest_ = (oldest_ + 1) % places_.size();
  --in_flight_;
  --sent_;
  return true;
}

void Pipeline::expire(SteadyInstant now, std::vector<Ended>& ended) {
  if (now < next_deadline_at_) return;
  next_deadline_at_ = SteadyInstant::max();
  for (std::size_t i = 0; i < in_flight_; ++i) {
    Waiting& call = call_at(i);
    if (call.ended) continue;
    if (call.deadline_at > now) {
      next_deadline_at_ = std::min(next_deadline_at_, call.deadline_at);
      continue;
    }
    call.ended = true;
    ended.push_back({call.id, i < sent_ ? CallOutcome::timed_out : CallOutcome::not_sent});
  }
  drop_unsent_that_ended();
}

/// They leave no trace: sent now, they would only charge for nothing.
void Pipeline::drop_unsent_that_ended() {
  std::size_t kept_bytes = 0;
  std::size_t seen_bytes = 0;
  std::size_t kept = sent_;
  for (std::size_t i = sent_; i < in_flight_; ++i) {
    const Waiting call = call_at(i);
    if (!call.ended) {
      std::copy_n(unsent_.begin() + static_cast<std::ptrdiff_t>(seen_bytes), call.bytes,
                  unsent_.begin() + static_cast<std::ptrdiff_t>(kept_bytes));
      kept_bytes += call.bytes;
      call_at(kept++) = call;
    }
    seen_bytes += call.bytes;
  }
  in_flight_ = kept;
  unsent_.resize(kept_bytes);
}

void Pipeline::lose(std::vector<Ended>& ended) {
  for (std::size_t i = 0; i < in_flight_; ++i) {
    const Waiting& call = call_at(i);
    if (call.ended) continue;
    ended.push_back({call.id, i < sent_ ? CallOutcome::indeterminate : CallOutcome::not_sent});
  }
  in_flight_ = 0;
  unsent_.clear();
  sent_ = 0;
  reader_.reset();
  next_deadline_at_ = SteadyInstant::max();
  fault_ = Fault::none;
}

std::optional<SteadyInstant> Pipeline::next_deadline_at() const noexcept {
  if (next_deadline_at_ == SteadyInstant::max()) return {};
  return next_deadline_at_;
}

std::optional<SteadyInstant> Pipeline::oldest_deadline_at() const noexcept {
  if (sent_ == 0) return {};
  return places_[oldest_].deadline_at;
}

}  // namespace weir::redis
