// Who decides while a real Redis is well, frozen, gone and back: seen by the public face alone.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "test/wire/redis_server.hpp"
#include "weir/redis/client.hpp"
#include "weir/redis/limiter.hpp"

namespace weir::redis {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr auto long_enough = 30s;

std::unique_ptr<Client> client_of(const wire::RedisServer& server) {
  return Client::connect("redis://127.0.0.1:" + std::to_string(server.port())).value();
}

/// A deadline that a busy machine keeps, and a breaker that looks often.
Policy policy(WithoutStore without_store) {
  Policy policy;
  policy.deadline = 200ms;
  policy.without_store = without_store;
  policy.members = 2;
  policy.breaker = {.failures = 2, .calls = 4, .probe_every = 10ms};
  return policy;
}

/// Asks until that one decides.
template <typename Ask>
Outcome until(Source wanted, Ask&& ask) {
  const auto give_up_at = steady_clock::now() + long_enough;
  for (;;) {
    Outcome outcome = ask();
    if (outcome.source == wanted || steady_clock::now() > give_up_at) return outcome;
    std::this_thread::yield();
  }
}
Outcome until(const Limiter<>& limiter, std::string_view key, Source wanted) {
  return until(wanted, [&] { return limiter.peek(key); });
}

int granted_of(const Limiter<>& limiter, std::string_view key, Source by) {
  int granted = 0;
  for (Outcome outcome; (outcome = limiter.try_acquire(key)) && granted < 100;) {
    EXPECT_EQ(outcome.source, by) << outcome.trouble.message;
    ++granted;
  }
  return granted;
}

TEST(LimitsStory, TheStoreDecidesThenItsDenialThenTheShareThenTheStoreAgain) {
  wire::RedisServer server;
  const auto client = client_of(server);
  const Limiter limiter(*client, "10/1h", policy(WithoutStore::share));

  ASSERT_EQ(until(limiter, "alice", Source::store).source, Source::store);
  EXPECT_EQ(granted_of(limiter, "alice", Source::store), 10);

  const Outcome denied = until(Source::cache, [&] { return limiter.try_acquire("alice"); });
  EXPECT_EQ(denied.source, Source::cache);
  EXPECT_EQ(denied.verdict, Verdict::denied);
  EXPECT_EQ(denied.trouble.kind, TroubleKind::none);

  server.freeze();
  const Outcome late = limiter.try_acquire("bob");
  EXPECT_TRUE(late);
  EXPECT_EQ(late.source, Source::fallback);
  EXPECT_EQ(late.trouble.kind, TroubleKind::timed_out);
  EXPECT_NE(late.trouble.message, "");
  EXPECT_EQ(granted_of(limiter, "bob", Source::fallback), 4) << "5 are his share of 10";

  server.thaw();
  EXPECT_EQ(until(limiter, "alice", Source::store).remaining, 0) << "it has not forgotten";

  server.kill();
  static_cast<void>(until(limiter, "bob", Source::fallback));  // the connection ends meanwhile
  EXPECT_EQ(limiter.peek("bob").trouble.kind, TroubleKind::unreachable);
  server.restart();
  EXPECT_EQ(until(limiter, "bob", Source::store).remaining, 10);
}

TEST(LimitsStory, ALeaseIsSpentWithoutTheStoreAndNeverBeyondTheLimit) {
  wire::RedisServer server;
  const auto client = client_of(server);
  Policy leasing = policy(WithoutStore::closed);
  leasing.lease = LeaseSettings{.most_units = 50, .kept_for = long_enough};
  const Limiter limiter(*client, "1000/1h", leasing);
  ASSERT_EQ(until(limiter, "alice", Source::store).source, Source::store);

  int leased = 0;
  for (int call = 0; call < 300; ++call) {
    const Outcome outcome = limiter.try_acquire("alice");
    EXPECT_TRUE(outcome);
    leased += outcome.source == Source::lease ? 1 : 0;
  }
  EXPECT_GT(leased, 250);
  EXPECT_LT(client->stats().calls, 100U);

  // What it holds is its own, whatever becomes of the store.
  static_cast<void>(until(Source::lease, [&] { return limiter.try_acquire("alice"); }));
  server.freeze();
  EXPECT_EQ(limiter.try_acquire("alice").source, Source::lease);
  server.thaw();
  ASSERT_EQ(until(limiter, "alice", Source::store).source, Source::store);

  const Limiter beside(*client, "1000/1h", policy(WithoutStore::closed));
  int granted = 0;
  while (granted < 1000 && beside.try_acquire("alice")) ++granted;
  while (granted < 1000 && limiter.try_acquire("alice")) ++granted;
  EXPECT_LE(granted, 1000 - 300);
}

TEST(LimitsStory, ByPolicyAllAreLetInOrNobody) {
  wire::RedisServer server;
  const auto client = client_of(server);
  const Limiter open(*client, "1/1h", policy(WithoutStore::open));
  const Limiter closed(*client, "1/1h", policy(WithoutStore::closed));
  ASSERT_EQ(until(open, "alice", Source::store).source, Source::store);
  ASSERT_EQ(until(closed, "alice", Source::store).source, Source::store);

  server.kill();
  for (int call = 0; call < 5; ++call) {
    const Outcome let_in = open.try_acquire("alice");
    EXPECT_TRUE(let_in);
    EXPECT_EQ(let_in.source, Source::open);
    EXPECT_NE(let_in.trouble.kind, TroubleKind::none);
    const Outcome refused = closed.try_acquire("bob");
    EXPECT_EQ(refused.verdict, Verdict::denied);
    EXPECT_EQ(refused.source, Source::closed);
  }
  server.restart();
  EXPECT_EQ(until(open, "alice", Source::store).source, Source::store);
  EXPECT_EQ(until(closed, "bob", Source::store).source, Source::store);
}

TEST(LimitsStory, AFrozenStoreHoldsNoCallForGood) {
  wire::RedisServer server;
  const auto client = client_of(server);
  Policy patient = policy(WithoutStore::open);
  patient.breaker = {.failures = 100, .calls = 100, .probe_every = 1s};  // all calls go out
  const Limiter limiter(*client, "1/1h", patient);
  ASSERT_EQ(until(limiter, "alice", Source::store).source, Source::store);
  server.freeze();
  for (int call = 0; call < 5; ++call) {
    EXPECT_EQ(limiter.try_acquire("alice").source, Source::open);
  }
  server.thaw();
}

TEST(LimitsStory, TwoProcessesShareALimit) {
  wire::RedisServer server;
  const auto one = client_of(server);
  const auto other = client_of(server);
  const Limiter here(*one, "10/1h", policy(WithoutStore::closed));
  const Limiter there(*other, "10/1h", policy(WithoutStore::closed));
  ASSERT_EQ(until(here, "alice", Source::store).source, Source::store);
  ASSERT_EQ(until(there, "alice", Source::store).source, Source::store);
  int granted = 0;
  for (int call = 0; call < 10; ++call) {
    granted += here.try_acquire("alice") ? 1 : 0;
    granted += there.try_acquire("alice") ? 1 : 0;
  }
  EXPECT_EQ(granted, 10);
  EXPECT_EQ(here.refund("alice", 3).given, 3);
  EXPECT_TRUE(here.try_acquire("alice")) << "what it was denied is forgotten";
  EXPECT_EQ(there.peek("alice").remaining, 2);
  EXPECT_EQ(there.reset("alice").given, 1);
  EXPECT_EQ(here.peek("alice").remaining, 10);
}

TEST(LimitsStory, ATurnIsWaitedForAndGivenBack) {
  wire::RedisServer server;
  const auto client = client_of(server);
  const Limiter limiter(*client, "1/50ms burst 1", policy(WithoutStore::closed));
  ASSERT_EQ(until(limiter, "alice", Source::store).source, Source::store);
  ASSERT_TRUE(limiter.try_acquire("alice"));
  const Outcome turn = limiter.try_acquire_for("alice", 1, long_enough);
  EXPECT_EQ(turn.verdict, Verdict::granted);
  EXPECT_EQ(turn.source, Source::store);

  const Limiter slow(*client, "1/30s burst 1", policy(WithoutStore::closed));
  ASSERT_TRUE(slow.try_acquire("bob"));
  std::stop_source stop;
  std::jthread stopper([&] {
    const auto give_up_at = steady_clock::now() + long_enough;
    const auto turn_is_taken = [&] { return slow.peek("bob").wait(steady_clock::now()) > 31s; };
    while (!turn_is_taken() && steady_clock::now() < give_up_at) std::this_thread::yield();
    stop.request_stop();
  });
  EXPECT_EQ(slow.acquire("bob", 1, stop.get_token()).refusal, Refusal::stopped);
  EXPECT_LE(slow.peek("bob").wait(steady_clock::now()), 30s) << "the turn was given back";
}

TEST(LimitsStory, SeveralLimitsAreTakenTogether) {
  wire::RedisServer server;
  const auto client = client_of(server);
  const auto limits = std::make_shared<Limits>(*client, policy(WithoutStore::closed));
  const Limiter<> per_user(limits, "2/1h");
  const Limiter<int> per_port(limits, "1/1h");
  ASSERT_EQ(until(per_user, "alice", Source::store).source, Source::store);
  EXPECT_TRUE(try_acquire_all({per_user.claim("alice"), per_port.claim(80)}).outcome);
  const Joint refused = try_acquire_all({per_user.claim("alice"), per_port.claim(80)});
  EXPECT_FALSE(refused.outcome);
  EXPECT_EQ(refused.binding, 1U);
  EXPECT_TRUE(refused.atomic);
  EXPECT_EQ(per_user.peek("alice").remaining, 1);
}

TEST(LimitsStory, PermitsAreLeftAndRenewed) {
  wire::RedisServer server;
  const auto client = client_of(server);
  const Limiter at_once(*client, "concurrency 1/1h", policy(WithoutStore::closed));
  ASSERT_EQ(until(at_once, "alice", Source::store).source, Source::store);
  const Outcome inside = at_once.try_acquire("alice");
  ASSERT_NE(inside.permit, PermitId::none);
  EXPECT_FALSE(at_once.try_acquire("alice"));
  EXPECT_EQ(at_once.renew("alice", inside.permit).given, 3'600'000'000);
  EXPECT_EQ(at_once.leave("alice", inside.permit).given, 1);
  EXPECT_EQ(at_once.leave("alice", inside.permit).given, 0);
  EXPECT_TRUE(at_once.try_acquire("alice"));
}

}  // namespace
}  // namespace weir::redis
