#include "test/redis/remote_table_by_hand.hpp"

namespace weir::redis {

void Hands::put(Asked asked) {
  {
    const std::lock_guard lock(mutex_);
    verbs_.push_back(asked.verb);
  }
  if (asked.then && answers) return asked.then(RemoteAnswer(*answers));
  if (asked.given && gives) return asked.given(RemoteGift(*gives));
  const std::lock_guard lock(mutex_);
  kept_.push_back(std::move(asked));
  came_.notify_one();
}

Asked Hands::next() {
  std::unique_lock lock(mutex_);
  came_.wait(lock, [this] { return !kept_.empty(); });
  Asked asked = std::move(kept_.front());
  kept_.pop_front();
  return asked;
}

std::size_t Hands::kept() const {
  const std::lock_guard lock(mutex_);
  return kept_.size();
}

std::vector<std::string> Hands::verbs() const {
  const std::lock_guard lock(mutex_);
  return verbs_;
}

class RemoteTable::Body {
 public:
  explicit Body(Store& store) : hands(dynamic_cast<Hands&>(store)) {}

  static Asked asked(const char* verb, const Subject& subject) {
    return {.verb = verb, .keys = {std::string(subject.key)}, .limit = subject.rule->name};
  }

  Hands& hands;
};

RemoteTable::Time::Time() = default;
RemoteTable::RemoteTable(Store& store, const Policy&, const Time&)
    : body_(std::make_shared<Body>(store)) {}
RemoteTable::~RemoteTable() = default;
void RemoteTable::tick() {}

void RemoteTable::take(const Subject& subject, const Ask& ask, Then then) {
  Asked asked = Body::asked("take", subject);
  asked.ask = ask;
  asked.then = std::move(then);
  body_->hands.put(std::move(asked));
}

void RemoteTable::peek(const Subject& subject, const Ask& ask, Then then) {
  Asked asked = Body::asked("peek", subject);
  asked.ask = ask;
  asked.then = std::move(then);
  body_->hands.put(std::move(asked));
}

void RemoteTable::take_all(std::span<const Claim> claims, const JointAsk& ask, Then then) {
  Asked asked{.verb = "take_all"};
  for (const Claim& claim : claims) {
    asked.keys.push_back(claim.subject.rule->name + " " + std::string(claim.subject.key));
    asked.costs.push_back(claim.cost);
  }
  asked.ask.patience = ask.patience;
  asked.then = std::move(then);
  body_->hands.put(std::move(asked));
}

void RemoteTable::cancel(const Subject& subject, const Grant& grant, Given given) {
  Asked asked = Body::asked("cancel", subject);
  asked.grant = grant;
  asked.given = std::move(given);
  body_->hands.put(std::move(asked));
}

void RemoteTable::refund(const Subject& subject, Cost units, Given given) {
  Asked asked = Body::asked("refund", subject);
  asked.units = units;
  asked.given = std::move(given);
  body_->hands.put(std::move(asked));
}

void RemoteTable::reset(const Subject& subject, Given given) {
  Asked asked = Body::asked("reset", subject);
  asked.given = std::move(given);
  body_->hands.put(std::move(asked));
}

void RemoteTable::leave(const Subject& subject, PermitId permit, Given given) {
  Asked asked = Body::asked("leave", subject);
  asked.units = static_cast<Cost>(permit);
  asked.given = std::move(given);
  body_->hands.put(std::move(asked));
}

void RemoteTable::renew(const Subject& subject, PermitId permit, Given given) {
  Asked asked = Body::asked("renew", subject);
  asked.units = static_cast<Cost>(permit);
  asked.given = std::move(given);
  body_->hands.put(std::move(asked));
}

}  // namespace weir::redis
