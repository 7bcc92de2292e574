// How fast is an access limit? What decide() takes from a handler's time, in nanoseconds: let
// through and turned away, one caller and many, and where nothing is counted.
#include <benchmark/benchmark.h>

#include <string>
#include <utility>
#include <vector>

#include "weir/http/access_limit.hpp"

namespace {

using weir::http::AccessLimits;
using weir::http::Visit;

/// Twenty handlers, as a service has; `asked` is the one that is asked.
AccessLimits with(weir::http::AccessLimit asked) {
  asked.method = "POST";
  asked.path = "/topics/{id}/replies";
  std::vector<weir::http::AccessLimit> declared{std::move(asked)};
  for (int other = 1; other < 20; ++other) {
    declared.push_back({.path = "/topics/" + std::to_string(other), .limit = "10/1s"});
  }
  return AccessLimits::of(std::move(declared), weir::http::kept_here({.max_keys = 1'000'000}));
}

constexpr Visit visit{.method = "POST",
                      .path = "/topics/4711/replies",
                      .route = "/topics/{id}/replies",
                      .user = "alice@example.org",
                      .ip = "192.0.2.1"};

void ask(benchmark::State& state, const AccessLimits& declared, const Visit& visited) {
  for (auto _ : state) benchmark::DoNotOptimize(declared.decide(visited));
}

void let_through(benchmark::State& state) { ask(state, with({.limit = "1000000000/1s"}), visit); }
BENCHMARK(let_through);

void let_through_100_000_users(benchmark::State& state) {
  const AccessLimits declared = with({.limit = "1000000000/1s"});
  std::vector<std::string> users;
  users.reserve(100'000);
  for (int user = 0; user < 100'000; ++user) {
    users.push_back("user-" + std::to_string(user * 7919 % 100'000) + "@example.org");
  }
  std::size_t next = 0;
  for (auto _ : state) {
    Visit visited = visit;
    visited.user = users[next];
    next = next + 1 == users.size() ? 0 : next + 1;
    benchmark::DoNotOptimize(declared.decide(visited));
  }
}
BENCHMARK(let_through_100_000_users);

void turned_away(benchmark::State& state) {
  const AccessLimits declared = with({.limit = "sliding-log 5/1d"});
  for (int call = 0; call < 5; ++call) static_cast<void>(declared.decide(visit));
  ask(state, declared, visit);
}
BENCHMARK(turned_away);

void not_logged_in(benchmark::State& state) {
  Visit nobody = visit;
  nobody.user = {};
  ask(state, with({.limit = "5/1m", .need_login = true}), nobody);
}
BENCHMARK(not_logged_in);

void without_a_declaration(benchmark::State& state) {
  ask(state, with({.limit = "5/1m"}), {.method = "GET", .path = "/about"});
}
BENCHMARK(without_a_declaration);

}  // namespace
