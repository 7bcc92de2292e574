#include "redis/remote_table.hpp"

#include <algorithm>
#include <utility>

#include "redis/denials.hpp"
#include "redis/in_turn.hpp"
#include "redis/leases.hpp"
#include "redis/limit_book.hpp"
#include "redis/policy_check.hpp"
#include "redis/remote_request.hpp"
#include "redis/stored_key.hpp"
#include "redis/watched_store.hpp"
#include "weir/local/clock.hpp"

namespace weir::redis {
namespace {

constexpr Cost most_told = Cost{1} << 53;  ///< scripts know no greater number

std::string key_in_store(const Subject& subject) {
  return stored_key({.key = subject.key, .limit = subject.rule->name});
}

std::string patience_word(std::optional<Span> patience) {
  if (!patience) return "-1";
  return std::to_string(std::clamp(*patience, Span{0}, longest_span).count());
}

std::string text_of(PermitId permit) { return std::to_string(static_cast<std::int64_t>(permit)); }

}  // namespace

RemoteTable::Time::Time()
    : steady(&std::chrono::steady_clock::now),
      unix([clock = std::make_shared<UnixClock>()] { return clock->now(); }) {}

class RemoteTable::Body : public std::enable_shared_from_this<Body> {
 public:
  Body(Store& store, const Policy& policy, const Time& time)
      : policy_(checked(policy)),
        steady_(time.steady),
        store_(store),
        calls_(std::make_shared<WatchedStore>(store, policy_, time.steady)),
        denials_(policy.remembered_denials),
        stand_in_(policy, time.unix) {
    if (policy.lease) leases_.emplace(*policy.lease);
  }

  void begin(const RemoteRequestPtr& asked) {
    asked->asked_at = steady_();
    if (asked->parts.size() > 1 && store_.has_slots()) {
      std::vector<std::string> keys;
      for (const Claim& claim : asked->claims()) keys.push_back(key_in_store(claim.subject));
      auto slots = InTurn::slots_of(keys);
      if (slots.size() > 1) return take_in_turn(asked, std::move(slots));
    }
    decide(asked);
  }

  void end_idle_leases() {
    if (leases_) give_back(leases_->expired(steady_()));
  }
  void close() {
    if (leases_) give_back(leases_->close());
  }
  Cost leased() const { return leases_ ? leases_->held() : 0; }
  const Policy& policy() const noexcept { return policy_; }
  Circuit circuit() const { return calls_->circuit(); }

  void decide(const RemoteRequestPtr& asked) {
    ScriptCaller::Call call{
        .verb = asked->question == StandIn::Question::take ? ScriptVerb::take : ScriptVerb::peek,
        .deadline_at = asked->asked_at + policy_.deadline};
    const std::vector<Claim> claims = asked->claims();
    std::vector<Cost> costs;
    asked->told.clear();
    for (const auto& [subject, cost] : claims) {
      const StoreLimit limit = limits_.of(subject);
      if (!limit.text) return without_store(*asked, unstorable(subject, limit));
      call.letter = call.keys.empty() || call.letter == limit.letter ? limit.letter : 'm';
      call.capacity = std::max(call.capacity, limit.capacity);
      call.by_scripts_alone = call.by_scripts_alone || !limit.by_module;
      call.keys.push_back(key_in_store(subject));
      call.arguments.push_back(*limit.text);
      // All that is above the capacity is impossible, and scripts know no number above 2^53.
      costs.push_back(std::min(cost, limit.capacity + 1));
      asked->told.push_back({cost, limit.terms});
    }
    if (call.verb == ScriptVerb::take && tell_denial(*asked)) return;
    const std::optional<Cost> batch = units_to_lease(asked);
    if (batch == 0) return;
    if (batch) costs.front() = *batch;
    for (const Cost cost : costs) call.arguments.push_back(std::to_string(cost));
    const bool ahead = batch && *batch > asked->parts.front().cost;
    call.arguments.push_back(ahead ? "0" : patience_word(asked->patience));
    calls_->call(std::move(call), [self = shared_from_this(), asked, batch](StoreReply&& reply) {
      self->heard(asked, batch, read_told(reply, asked->told));
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
                            .capacity = limit.capacity,
                            .by_scripts_alone = !limit.by_module,
                            .keys = {key_in_store(subject)},
                            .arguments = std::move(gift.arguments),
                            .deadline_at = steady_() + policy_.deadline};
    call.arguments.insert(call.arguments.begin(), *limit.text);
    const std::string key = call.keys.front();
    calls_->call(std::move(call), telling(forgetting(key, std::move(given))));
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

  void refund(const Subject& subject, Cost units, Given given) {
    const Cost told = std::min(units, most_told);
    give(subject, {.verb = ScriptVerb::refund, .arguments = {std::to_string(told)}},
         std::move(given));
  }

  void release(const Subject& subject, PermitId permit, Given given) {
    give(subject, {.verb = ScriptVerb::release, .arguments = {text_of(permit)}}, std::move(given));
  }

  void erase(const Subject& subject, Given&& given) {
    const std::string key = key_in_store(subject);
    if (leases_) leases_->forget(key);
    calls_->erase(key, steady_() + policy_.deadline, telling(forgetting(key, std::move(given))));
  }

 private:
  void heard(const RemoteRequestPtr& asked, std::optional<Cost> batch,
             Expected<Told, Trouble>&& told) {
    if (batch) return heard_of_lease(asked, *batch, std::move(told));
    if (!told) return without_store(*asked, told.error());
    tell(*asked, std::move(told).value(), Source::store);
  }

  void tell(const RemoteRequest& asked, Told&& told, Source source) {
    if (told.decision.verdict == Verdict::denied) keep_denial(asked, told);
    asked.then({.decision = told.decision,
                .decided_at = told.decided_at,
                .source = source,
                .binding = told.binding,
                .grants = std::move(told.grants)});
  }

  // ---- Leases ----

  /// Calls `use` with what makes a request known to the leases, where it can be served by one.
  template <typename Use>
  void with_lease(const RemoteRequest& asked, SteadyInstant now, Use&& use) {
    if (!leases_ || asked.alone || asked.parts.size() != 1) return;
    if (asked.question != StandIn::Question::take) return;
    const Claim claim = asked.claims().front();
    const StoreLimit limit = limits_.of(claim.subject);
    if (!limit.leasable || claim.cost < 1 || claim.cost > policy_.lease->most_units) return;
    const std::string key = key_in_store(claim.subject);
    use(Leases::Question{.key = key,
                         .limit = *limit.text,
                         .cost = claim.cost,
                         .capacity = limit.capacity,
                         .asked_at = asked.asked_at,
                         .now = now});
  }

  /// How many units to ask the store for; 0 where the request is served or waits, nothing where no
  /// lease can serve it.
  std::optional<Cost> units_to_lease(const RemoteRequestPtr& asked) {
    std::optional<Cost> units;
    with_lease(*asked, steady_(), [&](const Leases::Question& question) {
      give_back(leases_->expired(question.key, question.now));
      const Leases::Plan plan = leases_->plan(question, [&] { return waiting(asked); });
      units = plan.step == Leases::Step::asks ? plan.units : 0;
      if (plan.step != Leases::Step::handed_out) return;
      asked->then(
          {.decision = plan.decision, .decided_at = plan.decided_at, .source = Source::lease});
    });
    return units;
  }

  Leases::Waiting waiting(const RemoteRequestPtr& asked) {
    return [self = shared_from_this(), asked](Leases::Ended ended, const Trouble& trouble) {
      if (ended == Leases::Ended::failed) return self->without_store(*asked, trouble);
      asked->alone = ended == Leases::Ended::refused;
      self->decide(asked);
    };
  }

  void heard_of_lease(const RemoteRequestPtr& asked, Cost units, Expected<Told, Trouble>&& told) {
    const bool ahead = units > asked->parts.front().cost;
    auto ended = Leases::Ended::failed;
    if (told) {
      const bool granted = told->decision.verdict == Verdict::granted;
      ended = granted ? Leases::Ended::granted : Leases::Ended::refused;
    }
    Leases::Heard news;
    with_lease(*asked, asked->asked_at, [&](const Leases::Question& question) {
      news = leases_->heard({.asked = question,
                             .units = units,
                             .ended = ended,
                             .decision = told ? told->decision : Decision{},
                             .decided_at = told ? told->decided_at : Instant{}});
      if (news.give_back == 0) return;
      give_back({{std::string(question.key), std::string(question.limit), news.give_back}});
    });
    const Trouble trouble = told ? Trouble{} : told.error();
    if (!told) {
      without_store(*asked, trouble);
    } else if (!ahead) {
      tell(*asked, std::move(told).value(), Source::store);
    } else if (ended == Leases::Ended::granted) {
      Told answer = std::move(told).value();
      answer.decision.remaining += units - asked->parts.front().cost;
      answer.grants.clear();  // of the whole batch
      tell(*asked, std::move(answer), Source::lease);
    } else {
      asked->alone = true;
      decide(asked);
    }
    for (const Leases::Waiting& one : news.waiting) one(ended, trouble);
  }

  void give_back(const std::vector<Leases::Leftover>& leftovers) {
    for (const auto& [key, limit, units] : leftovers) {
      calls_->call(
          {.verb = ScriptVerb::refund,
           .letter = limit.front(),
           .keys = {key},
           .arguments = {limit, std::to_string(units)},
           .deadline_at = steady_() + policy_.deadline},
          [self = shared_from_this(), key = key](StoreReply&&) { self->denials_.forget(key); });
    }
  }

  // ---- Denials ----

  /// What makes a request of one claim known to the denials; calls `use` with it.
  template <typename Use>
  void with_question(const RemoteRequest& asked, Use&& use) {
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
  bool tell_denial(RemoteRequest& asked) {
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

  void keep_denial(const RemoteRequest& asked, const Told& told) {
    if (asked.question != StandIn::Question::take) return;
    with_question(asked, [&](const Denials::Question& question) {
      denials_.keep({.asked = question,
                     .heard_at = steady_(),
                     .forgotten = asked.forgotten,
                     .answer = {told.decision, told.decided_at}});
    });
  }

  /// Whatever came of it: units may have been given back.
  Given forgetting(const std::string& key, Given&& given) {
    return [self = shared_from_this(), key, given = std::move(given)](RemoteGift&& gift) {
      self->denials_.forget(key);
      if (given) given(std::move(gift));
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

  void take_in_turn(const RemoteRequestPtr& asked, std::vector<std::vector<std::size_t>>&& slots) {
    const auto self = shared_from_this();
    InTurn::Verbs verbs;
    verbs.ask = [self](const RemoteRequestPtr& part) { self->decide(part); };
    verbs.give_back = [self](const Claim& claim, const Grant& grant) {
      if (claim.cost == 0) return;
      const auto term = claim.subject.rule->limit.permit_term();
      if (term) self->release(claim.subject, Concurrency::permit_of(grant.marks.at(*term)), {});
      self->refund(claim.subject, claim.cost, {});
    };
    verbs.without_store = [self](const RemoteRequest& whole, const Trouble& trouble) {
      self->without_store(whole, trouble);
    };
    std::make_shared<InTurn>(asked, std::move(slots), std::move(verbs))->begin();
  }

  void without_store(const RemoteRequest& asked, const Trouble& trouble) {
    if (asked.bare) return asked.then({.trouble = trouble});
    const std::vector<Claim> claims = asked.claims();
    std::vector<WithoutStore> words;
    words.reserve(claims.size());
    for (const RemoteRequest::Part& part : asked.parts) {
      words.push_back(part.without_store.value_or(policy_.without_store));
    }
    RemoteAnswer answer = stand_in_.decide(asked.question, {claims, words, asked.patience});
    answer.trouble = trouble;
    asked.then(std::move(answer));
  }

  Policy policy_;
  std::function<SteadyInstant()> steady_;
  Store& store_;
  std::shared_ptr<WatchedStore> calls_;
  LimitBook limits_;
  Denials denials_;
  std::optional<Leases> leases_;
  StandIn stand_in_;
};

RemoteTable::RemoteTable(Store& store, const Policy& policy, const Time& time)
    : body_(std::make_shared<Body>(store, policy, time)) {}
RemoteTable::~RemoteTable() { body_->close(); }

void RemoteTable::tick() { body_->end_idle_leases(); }

Cost RemoteTable::leased() const { return body_->leased(); }

const Policy& RemoteTable::policy() const noexcept { return body_->policy(); }

Circuit RemoteTable::circuit() const { return body_->circuit(); }

void RemoteTable::take(const Subject& subject, const Ask& ask, Then then) {
  body_->begin(owned(StandIn::Question::take, subject, ask, std::move(then)));
}

void RemoteTable::peek(const Subject& subject, const Ask& ask, Then then) {
  body_->begin(owned(StandIn::Question::peek, subject, ask, std::move(then)));
}

void RemoteTable::take_all(std::span<const Claim> claims, const JointAsk& ask, Then then) {
  body_->begin(owned(StandIn::Question::take, claims, ask, std::move(then)));
}

void RemoteTable::peek_all(std::span<const Claim> claims, const JointAsk& ask, Then then) {
  body_->begin(owned(StandIn::Question::peek, claims, ask, std::move(then)));
}

void RemoteTable::cancel(const Subject& subject, const Grant& grant, Given given) {
  body_->cancel(subject, grant, std::move(given));
}

void RemoteTable::refund(const Subject& subject, Cost units, Given given) {
  body_->refund(subject, units, std::move(given));
}

void RemoteTable::leave(const Subject& subject, PermitId permit, Given given) {
  body_->release(subject, permit, std::move(given));
}

void RemoteTable::renew(const Subject& subject, PermitId permit, Given given) {
  body_->give(subject, {.verb = ScriptVerb::renew, .arguments = {text_of(permit)}},
              std::move(given));
}

void RemoteTable::reset(const Subject& subject, Given given) {
  body_->erase(subject, std::move(given));
}

}  // namespace weir::redis
