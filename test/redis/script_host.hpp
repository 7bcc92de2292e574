// The scripts in a store, as a host under test.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "redis/limit_config.hpp"
#include "redis/stored_form.hpp"
#include "redis/stored_key.hpp"
#include "test/host/differential.hpp"
#include "test/redis/script_store.hpp"

namespace weir::redis {

/// The instant that a script tells: -2^53 is that of what has never been.
inline Instant told_instant(std::int64_t ticks) {
  return ticks == -(std::int64_t{1} << 53) ? Instant::min() : Instant{Span{ticks}};
}

inline std::string patience_text(const Request& request) {
  return request.patience ? std::to_string(request.patience->count()) : "-1";
}

inline std::string permit_text(PermitId permit) {
  return std::to_string(static_cast<std::int64_t>(permit));
}

/// The decision in a reply of take or peek.
inline Decision told_decision(const std::vector<std::int64_t>& told) {
  const auto verdict = static_cast<Verdict>(told[0]);
  return {verdict, verdict == Verdict::impossible ? never : told_instant(told[2]), told[3], told[4],
          told_instant(told[5])};
}

class ScriptHost : public host::Host {
 public:
  explicit ScriptHost(ScriptStore& store) : store_(store) {}

  std::string name() const override { return store_.name(); }
  bool keeps(const Limit& limit) const override { return store_.keeps(limit); }
  Turn turn() const override { return Turn::joint; }

  Decision take(const host::Subject& subject, const Request& request, std::size_t ticket) override {
    const auto told = ask(ScriptVerb::take, subject, request);
    if (told.size() < 7) return {};
    const Decision decision = told_decision(told);
    if (taken(decision.verdict)) {
      grants_[ticket] = {request.cost, decision.ready_at, {told.begin() + 7, told.end()}};
    }
    return decision;
  }

  Decision peek(const host::Subject& subject, const Request& request) override {
    const auto told = ask(ScriptVerb::peek, subject, request);
    return told.size() < 7 ? Decision{} : told_decision(told);
  }

  Cost cancel(const host::Subject& subject, Instant now, std::size_t ticket) override {
    const Told& grant = grants_.at(ticket);
    std::vector<std::string> arguments{std::to_string(grant.cost),
                                       std::to_string(grant.acts_at.time_since_epoch().count())};
    for (const std::int64_t mark : grant.marks) arguments.push_back(std::to_string(mark));
    return units(ScriptVerb::cancel, subject, now, std::move(arguments));
  }

  Cost refund(const host::Subject& subject, Instant now, Cost back) override {
    return units(ScriptVerb::refund, subject, now, {std::to_string(back)});
  }

  Cost leave(const host::Subject& subject, Instant now, PermitId permit) override {
    return units(ScriptVerb::release, subject, now, {permit_text(permit)});
  }

  Span renew(const host::Subject& subject, Instant now, PermitId permit) override {
    return Span{units(ScriptVerb::renew, subject, now, {permit_text(permit)})};
  }

  bool reset(const host::Subject& subject, Instant now) override {
    store_.set_time(now);
    return store_.erase(key(subject));
  }

  std::optional<Limit::State> stored(const host::Subject& subject) override {
    const auto bytes = store_.get(key(subject));
    if (!bytes) return Limit::State{};
    EXPECT_TRUE(store_.expires_in_ms(key(subject))) << "an immortal key";
    auto state = read_stored(*bytes);
    EXPECT_TRUE(state) << "no state: " << testing::PrintToString(*bytes);
    return state;
  }

 private:
  struct Told {
    Cost cost;
    Instant acts_at;
    std::vector<std::int64_t> marks;
  };

  static std::string key(const host::Subject& subject) {
    return stored_key({subject.key, subject.limit.text()});
  }

  std::vector<std::int64_t> run(ScriptVerb verb, const host::Subject& subject, Instant now,
                                std::vector<std::string> arguments) {
    store_.set_time(now);
    arguments.insert(arguments.begin(), config_text(subject.limit).value());
    const ScriptReply reply = store_.call({.verb = verb,
                                           .letter = machine_letter(subject.limit),
                                           .keys = {key(subject)},
                                           .arguments = std::move(arguments)});
    EXPECT_EQ(reply.error, "");
    return reply.integers;
  }

  std::vector<std::int64_t> ask(ScriptVerb verb, const host::Subject& subject,
                                const Request& request) {
    return run(verb, subject, request.now, {std::to_string(request.cost), patience_text(request)});
  }

  Cost units(ScriptVerb verb, const host::Subject& subject, Instant now,
             std::vector<std::string> arguments) {
    const auto told = run(verb, subject, now, std::move(arguments));
    return told.empty() ? -1 : told[0];
  }

  ScriptStore& store_;
  std::map<std::size_t, Told> grants_;
};

}  // namespace weir::redis
