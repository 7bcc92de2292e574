// A remote table over a virtual store, for tests that ask and look at the answer.
#pragma once

#include <deque>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "redis/remote_table.hpp"
#include "test/redis/remote_host.hpp"
#include "test/redis/virtual_store.hpp"
#include "weir/algorithm/redis_cell.hpp"

namespace weir::redis {

struct RemoteCalls {
  explicit RemoteCalls(const Policy& policy, Loaded loaded = Loaded::library)
      : store(loaded), table(store, policy, time_of(store)) {}

  Subject subject(std::string_view limit, std::string_view key) {
    return {rules.find(limit).value(), key, nullptr, {}};
  }

  void start_take(std::string_view limit, std::string_view key, RemoteTable::Ask ask = {}) {
    table.take(subject(limit, key), ask, keep());
  }
  RemoteAnswer take(std::string_view limit, std::string_view key, RemoteTable::Ask ask = {}) {
    start_take(limit, key, ask);
    return last();
  }
  RemoteAnswer take_of(const Limit::Machine::Config& numbers, std::string_view key) {
    table.take({&rules.redis_cell(), key, &numbers, {}}, {}, keep());
    return last();
  }
  RemoteAnswer peek(std::string_view limit, std::string_view key, RemoteTable::Ask ask = {}) {
    table.peek(subject(limit, key), ask, keep());
    return last();
  }
  RemoteAnswer take_all(std::string_view limit, std::initializer_list<std::string_view> keys) {
    table.take_all(claims(limit, keys), {}, keep());
    return last();
  }
  RemoteAnswer peek_all(std::string_view limit, std::initializer_list<std::string_view> keys) {
    table.peek_all(claims(limit, keys), {}, keep());
    return last();
  }
  RemoteGift refund(std::string_view limit, std::string_view key, Cost units) {
    RemoteGift told;
    table.refund(subject(limit, key), units, [&](RemoteGift&& gift) { told = gift; });
    return told;
  }
  RemoteGift cancel(std::string_view limit, std::string_view key, const Grant& grant) {
    RemoteGift told;
    table.cancel(subject(limit, key), grant, [&](RemoteGift&& gift) { told = gift; });
    return told;
  }
  RemoteGift reset(std::string_view limit, std::string_view key) {
    RemoteGift told;
    table.reset(subject(limit, key), [&](RemoteGift&& gift) { told = gift; });
    return told;
  }

  VirtualStore store;
  Rules rules;
  RemoteTable table;
  std::vector<RemoteAnswer> answers;

 private:
  std::vector<Claim> claims(std::string_view limit, std::initializer_list<std::string_view> keys) {
    std::vector<Claim> claims;
    for (const std::string_view key : keys) claims.push_back({subject(limit, key), 1});
    return claims;
  }
  RemoteTable::Then keep() {
    return [this](RemoteAnswer&& answer) { answers.push_back(std::move(answer)); };
  }
  RemoteAnswer last() {
    RemoteAnswer answer = answers.at(0);
    EXPECT_EQ(answers.size(), 1u);
    answers.clear();
    return answer;
  }
};

}  // namespace weir::redis
