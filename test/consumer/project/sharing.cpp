// The first day of somebody whose processes share limits; the Redis is not there yet.
#include <iostream>

#include "weir/redis/client.hpp"
#include "weir/redis/limiter.hpp"

int main() {
  const auto store = weir::redis::Client::connect("redis://127.0.0.1:1").value();
  const weir::redis::Limiter per_user(*store, "6/1m", {.members = 2});
  const auto outcome = per_user.try_acquire("alice");
  std::cout << name(outcome.source) << ": " << outcome.trouble.message << ", " << outcome.remaining
            << " left\n";
  return outcome.source == weir::redis::Source::fallback && outcome.remaining == 2 ? 0 : 1;
}
