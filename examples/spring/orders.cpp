// A service that takes from the buckets of the Spring Cloud Gateway of application.yml.
//
//   orders redis://127.0.0.1
//
// Each line that it reads is an order of the user whose name it is. It answers whether the order is
// let in, and what is left for him at both.
#include <chrono>
#include <iostream>
#include <string>

#include "weir/redis/client.hpp"
#include "weir/redis/recipes.hpp"

using namespace std::chrono_literals;

int main(int count, char** arguments) {
  const auto store = weir::redis::Client::connect(count > 1 ? arguments[1] : "redis://127.0.0.1");
  if (!store) {
    std::cerr << "orders: " << store.error().message << '\n';
    return 2;
  }
  // The numbers and the route of application.yml. Gateways before 4.2 know no route in their keys:
  // leave it out. The usual deadline is 5 ms; this program makes its first call before it is
  // connected.
  const weir::redis::SpringBucket orders(
      **store,
      {.replenish_rate = 10, .burst_capacity = 20, .route = "orders", .policy = {.deadline = 2s}});
  for (std::string user; std::getline(std::cin, user);) {
    const auto outcome = orders.try_acquire(user);
    std::cout << (outcome ? "let in" : "refused") << ", " << outcome.remaining
              << " left, decided by " << name(outcome.source) << '\n'
              << std::flush;
  }
}
