// The remote table as a host under test.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "redis/limit_config.hpp"
#include "redis/remote_table.hpp"
#include "redis/stored_form.hpp"
#include "redis/stored_key.hpp"
#include "test/host/differential.hpp"
#include "test/redis/virtual_store.hpp"

namespace weir::redis {

inline RemoteTable::Time time_of(VirtualStore& store) {
  RemoteTable::Time time;
  time.steady = [&store] { return store.steady(); };
  time.unix = [&store] { return store.unix(); };
  return time;
}

/// Where denials are remembered, only that it was denied is compared of one.
class RemoteHost : public host::Host {
 public:
  RemoteHost(VirtualStore& store, const Policy& policy)
      : store_(store), policy_(policy), table_(store, policy, time_of(store)) {}

  std::size_t from_cache() const noexcept { return from_cache_; }

  std::string name() const override { return "remote table"; }
  bool keeps(const Limit& limit) const override { return config_text(limit).has_value(); }
  Turn turn() const override { return Turn::joint; }

  Decision take(const host::Subject& subject, const Request& request, std::size_t ticket) override {
    store_.set_time(request.now);
    Decision decision;
    table_.take(here(subject), {request.cost, request.patience}, [&](RemoteAnswer&& answer) {
      decision = heard(answer, request.now);
      if (taken(decision.verdict)) grants_[ticket] = answer.grants.at(0);
    });
    return decision;
  }

  Decision peek(const host::Subject& subject, const Request& request) override {
    store_.set_time(request.now);
    Decision decision;
    table_.peek(here(subject), {request.cost, request.patience},
                [&](RemoteAnswer&& answer) { decision = heard(answer, request.now); });
    return decision;
  }

  Cost cancel(const host::Subject& subject, Instant now, std::size_t ticket) override {
    store_.set_time(now);
    Cost units = -1;
    table_.cancel(here(subject), grants_.at(ticket), given(units));
    return units;
  }

  Cost refund(const host::Subject& subject, Instant now, Cost back) override {
    store_.set_time(now);
    Cost units = -1;
    table_.refund(here(subject), back, given(units));
    return units;
  }

  Cost leave(const host::Subject& subject, Instant now, PermitId permit) override {
    store_.set_time(now);
    Cost units = -1;
    table_.leave(here(subject), permit, given(units));
    return units;
  }

  Span renew(const host::Subject& subject, Instant now, PermitId permit) override {
    store_.set_time(now);
    Cost left = -1;
    table_.renew(here(subject), permit, given(left));
    return Span{left};
  }

  bool reset(const host::Subject& subject, Instant now) override {
    store_.set_time(now);
    Cost erased = -1;
    table_.reset(here(subject), given(erased));
    return erased == 1;
  }

  Decision comparable(Decision decision) const override {
    if (policy_.remembered_denials == 0 || decision.verdict != Verdict::denied) return decision;
    return {.verdict = Verdict::denied};
  }

  std::optional<Limit::State> stored(const host::Subject& subject) override {
    const auto bytes = store_.lua().get(stored_key({subject.key, subject.limit.text()}));
    return bytes ? read_stored(*bytes) : Limit::State{};
  }

 private:
  Decision heard(const RemoteAnswer& answer, Instant now) {
    if (answer.source == Source::cache) ++from_cache_;
    EXPECT_EQ(answer.trouble.message, "");
    EXPECT_TRUE(answer.source == Source::store || answer.source == Source::cache);
    EXPECT_EQ(answer.decided_at, now);
    return answer.decision;
  }

  static RemoteTable::Given given(Cost& units) {
    return [&units](RemoteGift&& gift) {
      EXPECT_EQ(gift.trouble.message, "");
      units = gift.given.value_or(-1);
    };
  }

  Subject here(const host::Subject& subject) {
    return {rules_.find(subject.limit.text()).value(), subject.key, nullptr, {}};
  }

  VirtualStore& store_;
  Policy policy_;
  Rules rules_;
  RemoteTable table_;
  std::size_t from_cache_ = 0;
  std::map<std::size_t, Grant> grants_;
};

}  // namespace weir::redis
