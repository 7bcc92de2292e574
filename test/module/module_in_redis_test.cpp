// The module where it is meant to run: against the pure machines, and beside the scripts.
#include <gtest/gtest.h>

#include <iostream>
#include <map>

#include "test/module/function_store.hpp"
#include "test/module/module_host.hpp"
#include "test/module/real_server.hpp"
#include "test/module/schedules.hpp"
#include "test/redis/script_host.hpp"
#include "test/redis/several_keys.hpp"

namespace weir::module {
namespace {

/// The server of a store, as one that has the module.
class StoreServer : public ModuleServer {
 public:
  explicit StoreServer(redis::RedisStore& store) : store_(store) {}

  std::string name() const override { return "the module in Redis"; }
  void set_time(Instant now) override { store_.set_time(now); }
  wire::Reply run(const std::vector<std::string>& command) override { return store_.run(command); }
  std::optional<std::string> get(const std::string& key) override { return store_.get(key); }
  bool is_mortal(const std::string& key) override { return store_.expires_in_ms(key).has_value(); }

 private:
  redis::RedisStore& store_;
};

std::string name_of(const host::Subject& subject) {
  return redis::stored_key({subject.key, subject.limit.text()});
}

/// Each call goes to the other one: the module, or the scripts' library, on the same keys.
class InTurnHost : public host::Host {
 public:
  explicit InTurnHost(redis::RedisStore& store) : server_(store), module_(server_), lua_(store) {}

  std::string name() const override { return "the module and Lua in turn"; }
  bool keeps(const Limit& limit) const override { return module_.keeps(limit); }
  Turn turn() const override { return Turn::joint; }
  Span patience_grain() const override { return module_.patience_grain(); }
  bool peeks_with_patience() const override { return false; }

  Decision take(const host::Subject& subject, const Request& request, std::size_t ticket) override {
    host::Host& host = next();
    granted_by_[ticket] = &host;
    return host.take(subject, request, ticket);
  }
  Decision peek(const host::Subject& subject, const Request& request) override {
    return next().peek(subject, request);
  }
  /// A grant is told in other words by each, so it goes back to where it came from.
  Cost cancel(const host::Subject& subject, Instant now, std::size_t ticket) override {
    return granted_by_.at(ticket)->cancel(subject, now, ticket);
  }
  Cost refund(const host::Subject& subject, Instant now, Cost units) override {
    return next().refund(subject, now, units);
  }
  Cost leave(const host::Subject& subject, Instant now, PermitId permit) override {
    return next().leave(subject, now, permit);
  }
  Span renew(const host::Subject& subject, Instant now, PermitId permit) override {
    return next().renew(subject, now, permit);
  }
  bool reset(const host::Subject& subject, Instant now) override {
    return next().reset(subject, now);
  }
  std::optional<Limit::State> stored(const host::Subject& subject) override {
    return module_.stored(subject);
  }

 private:
  host::Host& next() { return calls_++ % 2 == 0 ? static_cast<host::Host&>(module_) : lua_; }

  StoreServer server_;
  ModuleHost module_;
  redis::ScriptHost lua_;
  std::map<std::size_t, host::Host*> granted_by_;
  std::size_t calls_ = 0;
};

/// Each call goes to both, in a server of its own each; what they answer and keep must be equal.
class SideBySideHost : public host::Host {
 private:
  auto of_both(const host::Subject& subject, auto call) {
    const auto told = call(module_);
    EXPECT_TRUE(told == call(lua_)) << "the module and Lua differ";
    expire_together(name_of(subject));
    return told;
  }

  /// The module rounds up until when a key is kept, and Lua how long: neither forgets early, but
  /// what one forgets a millisecond before the other would lie in other bytes from then on.
  void expire_together(const std::string& key) {
    const auto left_ms = store_.expires_in_ms(key);
    const auto of_lua_ms = store_of_lua_.expires_in_ms(key);
    ASSERT_EQ(left_ms.has_value(), of_lua_ms.has_value()) << key;
    if (left_ms == of_lua_ms) return;
    ASSERT_LE(std::abs(*left_ms - *of_lua_ms), 1) << key;
    redis::RedisStore& shorter = *left_ms < *of_lua_ms ? store_ : store_of_lua_;
    shorter.run({"PEXPIRE", key, std::to_string(std::max(*left_ms, *of_lua_ms))});
  }

 public:
  struct Stores {
    redis::RedisStore& of_module;
    redis::RedisStore& of_lua;
  };

  explicit SideBySideHost(Stores stores)
      : store_(stores.of_module),
        store_of_lua_(stores.of_lua),
        server_(store_),
        module_(server_),
        lua_(store_of_lua_) {}

  std::string name() const override { return "the module beside Lua"; }
  bool keeps(const Limit& limit) const override { return module_.keeps(limit); }
  Turn turn() const override { return Turn::joint; }
  Span patience_grain() const override { return module_.patience_grain(); }
  bool peeks_with_patience() const override { return false; }

  Decision take(const host::Subject& subject, const Request& request, std::size_t ticket) override {
    return of_both(subject, [&](auto& host) { return host.take(subject, request, ticket); });
  }
  Decision peek(const host::Subject& subject, const Request& request) override {
    return of_both(subject, [&](auto& host) { return host.peek(subject, request); });
  }
  Cost cancel(const host::Subject& subject, Instant now, std::size_t ticket) override {
    return of_both(subject, [&](auto& host) { return host.cancel(subject, now, ticket); });
  }
  Cost refund(const host::Subject& subject, Instant now, Cost units) override {
    return of_both(subject, [&](auto& host) { return host.refund(subject, now, units); });
  }
  Cost leave(const host::Subject& subject, Instant now, PermitId permit) override {
    return of_both(subject, [&](auto& host) { return host.leave(subject, now, permit); });
  }
  Span renew(const host::Subject& subject, Instant now, PermitId permit) override {
    return of_both(subject, [&](auto& host) { return host.renew(subject, now, permit); });
  }
  bool reset(const host::Subject& subject, Instant now) override {
    return of_both(subject, [&](auto& host) { return host.reset(subject, now); });
  }
  std::optional<Limit::State> stored(const host::Subject& subject) override {
    const std::string key = name_of(subject);
    const auto bytes = store_.get(key);
    EXPECT_EQ(bytes, store_of_lua_.get(key)) << key;
    return module_.stored(subject);
  }

 private:
  redis::RedisStore& store_;
  redis::RedisStore& store_of_lua_;
  StoreServer server_;
  ModuleHost module_;
  redis::ScriptHost lua_;
};

/// The functions in a Redis: the module's, or those of Lua in turn.
class RedisFunctions : public redis::RedisStore {
 public:
  enum class Of : std::uint8_t { module_alone, module_and_lua };

  explicit RedisFunctions(Of of) : RedisStore(redis::Loaded::library, with_module()), of_(of) {}

  std::string name() const override { return "the module's functions in Redis"; }
  bool keeps(const Limit& limit) const override { return knows(limit); }
  redis::ScriptReply call(const redis::ScriptCall& call) override {
    by_module_ = of_ == Of::module_alone || !by_module_;
    if (!by_module_) return RedisStore::call(call);
    return run({std::string(redis::module_command(call.verb))}, call);
  }
  std::int64_t kept_for_ms(Instant now, Instant fresh_at) const override {
    return by_module_ ? kept_for_ms_by_module(now, fresh_at)
                      : RedisStore::kept_for_ms(now, fresh_at);
  }

 private:
  Of of_;
  bool by_module_ = false;  ///< the last call
};

host::Compared compare(host::Host& host, std::size_t count) {
  const host::Compared compared = host::expect_equal_to_pure(host, {.first = 1, .count = count});
  std::cout << compared.decisions << " decisions, " << compared.taken << " taken, "
            << compared.denied << " denied, " << compared.given_back << " units given back, "
            << compared.states << " states\n";
  EXPECT_GT(compared.taken, 60 * count);
  EXPECT_GT(compared.denied, 20 * count);
  EXPECT_GT(compared.given_back, count);
  return compared;
}

TEST(ModuleInRedis, DecidesAsThePureMachines) {
  redis::RedisStore store(redis::Loaded::scripts, with_module());
  StoreServer server(store);
  ModuleHost host(server);
  compare(host, schedules);
}

TEST(ModuleInRedis, ContinuesTheKeysOfTheScriptsAndTheyItsOwn) {
  redis::RedisStore store(redis::Loaded::library, with_module());
  InTurnHost host(store);
  compare(host, schedules);
}

TEST(ModuleInRedis, KeepsTheBytesThatTheScriptsKeep) {
  redis::RedisStore store(redis::Loaded::scripts, with_module());
  redis::RedisStore of_lua(redis::Loaded::library);
  SideBySideHost host({.of_module = store, .of_lua = of_lua});
  compare(host, schedules / 2);
}

class FunctionsInRedis : public testing::TestWithParam<RedisFunctions::Of> {};

TEST_P(FunctionsInRedis, DecideAsThePureMachines) {
  RedisFunctions store(GetParam());
  redis::ScriptHost host(store);
  compare(host, schedules / 2);
}

TEST_P(FunctionsInRedis, DecideOverSeveralKeysAsTheMachinesAndTheTable) {
  RedisFunctions store(GetParam());
  redis::expect_equal_over_several_keys(store, schedules / 2);
}

INSTANTIATE_TEST_SUITE_P(OfModule, FunctionsInRedis,
                         testing::Values(RedisFunctions::Of::module_alone,
                                         RedisFunctions::Of::module_and_lua));

}  // namespace
}  // namespace weir::module
