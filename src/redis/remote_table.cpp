#include "redis/remote_table.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <string_view>
#include <utility>

#include "redis/denials.hpp"
#include "redis/limit_book.hpp"
#include "redis/script_caller.hpp"
#include "redis/script_reply.hpp"
#include "redis/stand_in.hpp"
#include "redis/store_breaker.hpp"
#include "redis/stored_key.hpp"
#include "weir/local/clock.hpp"
#include "weir/local/keyed_hash.hpp"
#include "weir/local/refuse_settings.hpp"

namespace weir::redis {
namespace {

/// A request that outlives its caller's words.
struct Asked {
  struct Part {
    const Rule* rule;
    std::string key;
    std::optional<Limit::Machine::Config> config;
    Cost cost;
  };

  StandIn::Question question = StandIn::Question::take;
  std::vector<Part> parts;
  std::vector<ToldKey> told;
  std::optional<Span> patience;
  RemoteTable::Then then;
  SteadyInstant asked_at{};
  std::uint64_t forgotten = 0;  ///< of denials, then

  std::vector<Claim> claims() const {
    std::vector<Claim> claims;
    for (const Part& part : parts) {
      claims.push_back(
          {{part.rule, part.key, part.config ? &*part.config : nullptr, {}}, part.cost});
    }
    return claims;
  }
};
using AskedPtr = std::shared_ptr<Asked>;

AskedPtr owned(StandIn::Question question, std::span<const Claim> claims,
               std::optional<Span> patience, RemoteTable::Then then) {
  auto asked = std::make_shared<Asked>();
  asked->question = question;
  for (const auto& [subject, cost] : claims) {
    assert(cost >= 0);
    asked->parts.push_back({subject.rule, std::string(subject.key), {}, cost});
    if (subject.config != nullptr) asked->parts.back().config = *subject.config;
  }
  asked->patience = patience;
  asked->then = std::move(then);
  return asked;
}

std::string key_in_store(const Subject& subject) {
  return stored_key({.key = subject.key, .limit = subject.rule->name});
}

std::string patience_word(std::optional<Span> patience) {
  if (!patience) return "-1";
  return std::to_string(std::clamp(*patience, Span{0}, longest_span).count());
}

std::string text_of(PermitId permit) { return std::to_string(static_cast<std::int64_t>(permit)); }

void check(const Policy& policy) {
  const auto refuse = [](const char* setting, const char* expected) {
    refuse_settings("redis policy", {setting, expected});
  };
  if (policy.deadline <= std::chrono::nanoseconds{0}) refuse("deadline", "above 0");
  if (policy.members == 0) refuse("members", "1 or more");
}

/// What an ended call says of the store's health: one that refuses is well.
CallEnd end_of(TroubleKind kind) {
  switch (kind) {
    case TroubleKind::timed_out:
    case TroubleKind::unreachable:
    case TroubleKind::unavailable: return CallEnd::dropped;
    case TroubleKind::none:
    case TroubleKind::refused:
    case TroubleKind::garbled: break;
  }
  return CallEnd::success;
}

}  // namespace

RemoteTable::Time::Time()
    : steady(&std::chrono::steady_clock::now),
      unix([clock = std::make_shared<UnixClock>()] { return clock->now(); }) {}

class RemoteTable::Body : public std::enable_shared_from_this<Body> {
 public:
  Body(Store& store, const Policy& policy, const Time& time)
      : policy_(policy),
        steady_(time.steady),
        store_(store),
        caller_(store, time.steady),
        denials_(policy.remembered_denials),
        breaker_(policy, HashKey::random().first),
        stand_in_(policy, time.unix) {
    check(policy);
  }

  void decide(const AskedPtr& asked) {
    ScriptCaller::Call call{.verb = asked->question == StandIn::Question::take ? ScriptVerb::take
                                                                               : ScriptVerb::peek};
    const std::vector<Claim> claims = asked->claims();
    std::vector<std::string> costs;
    for (const auto& [subject, cost] : claims) {
      const StoreLimit limit = limits_.of(subject);
      if (!limit.text) return without_store(*asked, unstorable(subject, limit));
      call.letter = call.keys.empty() || call.letter == limit.letter ? limit.letter : 'm';
      call.keys.push_back(key_in_store(subject));
      call.arguments.push_back(*limit.text);
      // All that is above the capacity is impossible, and scripts know no number above 2^53.
      costs.push_back(std::to_string(std::min(cost, limit.capacity + 1)));
      asked->told.push_back({cost, limit.terms});
    }
    if (call.verb == ScriptVerb::take && tell_denial(*asked)) return;
    call.arguments.insert(call.arguments.end(), costs.begin(), costs.end());
    call.arguments.push_back(patience_word(asked->patience));
    run(std::move(call), [self = shared_from_this(), asked](StoreReply&& reply) {
      auto told = read_told(reply, asked->told);
      if (!told) return self->without_store(*asked, told.error());
      if (told->decision.verdict == Verdict::denied) self->keep_denial(*asked, *told);
      asked->then({.decision = told->decision,
                   .decided_at = told->decided_at,
                   .binding = told->binding,
                   .grants = std::move(told).value().grants});
    });
  }

  /// A verb that answers with a number.
  struct Gift {
    ScriptVerb verb;
    std::vector<std::string> arguments{};  ///< behind the limit's config
  };
  void give(const Subject& subject, Gift&& gift, Given&& given) {
    const StoreLimit limit = limits_.of(subject);
    if (!limit.text) return given({.trouble = unstorable(subject, limit)});
    ScriptCaller::Call call{.verb = gift.verb,
                            .letter = limit.letter,
                            .keys = {key_in_store(subject)},
                            .arguments = std::move(gift.arguments)};
    call.arguments.insert(call.arguments.begin(), *limit.text);
    const std::string key = call.keys.front();
    run(std::move(call), telling(forgetting(key, std::move(given))));
  }

  void cancel(const Subject& subject, const Grant& grant, Given&& given) {
    Gift gift{.verb = ScriptVerb::cancel,
              .arguments = {std::to_string(grant.cost),
                            std::to_string(grant.acts_at.time_since_epoch().count())}};
    for (const std::int64_t mark : told_marks(grant, limits_.of(subject).terms)) {
      gift.arguments.push_back(std::to_string(mark));
    }
    give(subject, std::move(gift), std::move(given));
  }

  void erase(const Subject& subject, Given&& given) {
    const std::string key = key_in_store(subject);
    guarded(telling(forgetting(key, std::move(given))), [&](SteadyInstant now, Store::Then&& then) {
      const std::array<std::string_view, 2> words{"DEL", key};
      store_.ask({.words = words, .route = key, .deadline_at = now + policy_.deadline},
                 std::move(then));
    });
  }

 private:
  /// What makes a request of one claim known to the denials; calls `use` with it.
  template <typename Use>
  void with_question(const Asked& asked, Use&& use) {
    if (asked.parts.size() != 1) return;
    const Claim claim = asked.claims().front();
    const StoreLimit limit = limits_.of(claim.subject);
    if (!limit.denials_hold || claim.cost > limit.capacity) return;
    const std::string key = key_in_store(claim.subject);
    use(Denials::Question{.key = key,
                          .limit = *limit.text,
                          .cost = claim.cost,
                          .patience = patience_of(claim.subject, claim.cost, asked.patience),
                          .now = asked.asked_at});
  }

  /// Whether the store denied it before, and that still holds.
  bool tell_denial(Asked& asked) {
    asked.asked_at = steady_();
    std::optional<Denials::Answer> answer;
    with_question(asked, [&](const Denials::Question& question) {
      const Denials::Found found = denials_.find(question);
      asked.forgotten = found.forgotten;
      answer = found.answer;
    });
    if (!answer) return false;
    asked.then(
        {.decision = answer->decision, .decided_at = answer->decided_at, .source = Source::cache});
    return true;
  }

  void keep_denial(const Asked& asked, const Told& told) {
    if (asked.question != StandIn::Question::take) return;
    with_question(asked, [&](const Denials::Question& question) {
      denials_.keep({.asked = question,
                     .forgotten = asked.forgotten,
                     .answer = {told.decision, told.decided_at}});
    });
  }

  /// Whatever came of it: units may have been given back.
  Given forgetting(const std::string& key, Given&& given) {
    return [self = shared_from_this(), key, given = std::move(given)](RemoteGift&& gift) {
      self->denials_.forget(key);
      given(std::move(gift));
    };
  }

  static Trouble unstorable(const Subject& subject, const StoreLimit& limit) {
    return {TroubleKind::refused,
            "limit " + subject.rule->name + " " + describe(limit.text.error())};
  }

  static Store::Then telling(Given&& given) {
    return [given = std::move(given)](StoreReply&& reply) {
      const auto number = read_number(reply);
      if (number) return given({.given = *number});
      given({.trouble = number.error()});
    };
  }

  void run(ScriptCaller::Call&& call, Store::Then&& then) {
    guarded(std::move(then), [&](SteadyInstant now, Store::Then&& watched) {
      call.deadline_at = now + policy_.deadline;
      caller_.call(std::move(call), std::move(watched));
    });
  }

  /// Sends a call where the breaker lets it, and tells the breaker how it ended.
  template <typename Send>
  void guarded(Store::Then&& then, Send&& send) {
    const SteadyInstant now = steady_();
    const Breaker::Ticket ticket = breaker_.enter(now);
    if (ticket == 0) {
      return then({CallOutcome::not_sent,
                   StoreReply::Kind::none,
                   {},
                   "calls to the store have failed, and it is left alone for a while"});
    }
    send(now, [self = shared_from_this(), ticket, now, then = std::move(then)](StoreReply&& reply) {
      const SteadyInstant ended_at = self->steady_();
      self->breaker_.observe(ticket, {.ended_at = ended_at,
                                      .latency = std::max(ended_at - now, {}),
                                      .end = end_of(trouble_of(reply).kind)});
      then(std::move(reply));
    });
  }

  void without_store(const Asked& asked, const Trouble& trouble) {
    RemoteAnswer answer = stand_in_.decide(asked.question, asked.claims(), asked.patience);
    answer.trouble = trouble;
    asked.then(std::move(answer));
  }

  Policy policy_;
  std::function<SteadyInstant()> steady_;
  Store& store_;
  ScriptCaller caller_;
  LimitBook limits_;
  Denials denials_;
  StoreBreaker breaker_;
  StandIn stand_in_;
};

RemoteTable::RemoteTable(Store& store, const Policy& policy, const Time& time)
    : body_(std::make_shared<Body>(store, policy, time)) {}
RemoteTable::~RemoteTable() = default;

void RemoteTable::take(const Subject& subject, const Ask& ask, Then then) {
  const Claim claim{subject, ask.cost};
  take_all({&claim, 1}, ask.patience, std::move(then));
}

void RemoteTable::peek(const Subject& subject, const Ask& ask, Then then) {
  const Claim claim{subject, ask.cost};
  body_->decide(owned(StandIn::Question::peek, {&claim, 1}, ask.patience, std::move(then)));
}

void RemoteTable::take_all(std::span<const Claim> claims, std::optional<Span> patience, Then then) {
  assert(!claims.empty() && claims.size() <= Table::most_claims);
  body_->decide(owned(StandIn::Question::take, claims, patience, std::move(then)));
}

void RemoteTable::cancel(const Subject& subject, const Grant& grant, Given given) {
  body_->cancel(subject, grant, std::move(given));
}

void RemoteTable::refund(const Subject& subject, Cost units, Given given) {
  body_->give(subject, {.verb = ScriptVerb::refund, .arguments = {std::to_string(units)}},
              std::move(given));
}

void RemoteTable::leave(const Subject& subject, PermitId permit, Given given) {
  body_->give(subject, {.verb = ScriptVerb::release, .arguments = {text_of(permit)}},
              std::move(given));
}

void RemoteTable::renew(const Subject& subject, PermitId permit, Given given) {
  body_->give(subject, {.verb = ScriptVerb::renew, .arguments = {text_of(permit)}},
              std::move(given));
}

void RemoteTable::reset(const Subject& subject, Given given) {
  body_->erase(subject, std::move(given));
}

}  // namespace weir::redis
