// A limit that every process shares which asks the same Redis.
//
//   limits_over_redis redis://127.0.0.1
//
// It shows: one user is let in twice a minute, whoever asks, and others are not touched. Run it
// again within the minute: the Redis remembers.
#include <chrono>
#include <iostream>

#include "weir/redis/client.hpp"
#include "weir/redis/limiter.hpp"

using namespace std::chrono_literals;

int main(int count, char** arguments) {
  const auto store = weir::redis::Client::connect(count > 1 ? arguments[1] : "redis://127.0.0.1");
  if (!store) {
    std::cerr << "limits_over_redis: " << store.error().message << '\n';
    return 2;
  }
  // The usual deadline is 5 ms. This program makes its first call before it is connected.
  const weir::redis::Limiter per_user(**store, "2/1m", {.deadline = 2s, .members = 4});

  for (const char* user : {"alice", "alice", "alice", "bob"}) {
    const auto outcome = per_user.try_acquire(user);
    std::cout << user << ": " << (outcome ? "let in" : "refused") << ", " << outcome.remaining
              << " of " << outcome.limit << " left, decided by " << name(outcome.source) << ' '
              << outcome.trouble.message << '\n';
    if (outcome.source != weir::redis::Source::store) return 1;
  }
}
