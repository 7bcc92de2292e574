// Calls to another service, each behind a circuit breaker, a concurrency limit and a rate limit.
//
// Against a service in this process that can do little at once, breaks down and comes back.
//
// It shows:
//   chain        a gate that refuses gives back what those before it gave
//   priorities   while more is wanted than the service can do, the least important goes without
//   breaker      while the service is down it is left alone, but for a probe now and then
#include <array>
#include <atomic>
#include <chrono>
#include <iostream>
#include <stop_token>
#include <thread>
#include <vector>

#include "weir/overload_protection.hpp"

namespace {

using namespace std::chrono_literals;
using weir::CallEnd;
using weir::Priority;

void pass_time(std::chrono::nanoseconds length) { std::this_thread::sleep_for(length); }

/// The other service: it does four things at once, and counts who asks too much of it.
class Service {
 public:
  static constexpr int can_do = 4;

  bool call() {
    ++calls_;
    if (in_flight_.fetch_add(1) >= can_do) ++too_many_;
    pass_time(1ms);
    --in_flight_;
    return !down_;
  }
  void go_down() { down_ = true; }
  void come_back() { down_ = false; }

  int calls() const { return calls_; }
  int too_many() const { return too_many_; }

 private:
  std::atomic<bool> down_{false};
  std::atomic<int> calls_{0};
  std::atomic<int> in_flight_{0};
  std::atomic<int> too_many_{0};
};

// ---- The client: this is what the example is about ----

class Client {
 public:
  static constexpr std::chrono::milliseconds open_for{50};

  explicit Client(Service& service) : service_(service) {}

  /// Whether the service has answered.
  bool ask(Priority priority) {
    auto guard = weir::chain(breaker_, concurrency_,
                             weir::keeping(rate_, {.sheddable = 50, .background = 100}));
    auto passage = guard.try_enter({.priority = priority});
    if (!passage) return false;
    const bool answered = service_.call();
    passage.end(answered ? CallEnd::success : CallEnd::failure);
    return answered;
  }

  weir::Circuit circuit() const { return breaker_.state(); }
  std::int64_t in_flight() const { return concurrency_.in_flight(); }

 private:
  Service& service_;
  weir::CircuitBreaker breaker_{{.error_ratio = 0.5, .window_calls = 20, .open_for = open_for}};
  weir::ConcurrencyLimit concurrency_{
      {.limit = Service::can_do, .ceilings = {.sheddable = 0.75, .background = 0.5}}};
  weir::TokenBucket rate_{{.count = 5'000, .period = 1s, .burst = 200}};
};

// ---- Who calls ----

using Answers = std::array<std::atomic<int>, weir::priorities>;

/// Of each priority two threads ask, one call after the other.
void ask_for(std::chrono::nanoseconds length, Client& client, Answers& answers) {
  std::vector<std::jthread> threads;
  threads.reserve(2 * weir::priorities);
  for (std::size_t caller = 0; caller < 2 * weir::priorities; ++caller) {
    threads.emplace_back([&, priority = caller % weir::priorities](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        if (client.ask(static_cast<Priority>(priority))) {
          ++answers[priority];
        } else {
          pass_time(100us);
        }
      }
    });
  }
  pass_time(length);
}

}  // namespace

int main() {
  Service service;
  Client client(service);

  Answers answers{};
  ask_for(200ms, client, answers);
  const int critical = answers[static_cast<std::size_t>(Priority::critical)];
  const int background = answers[static_cast<std::size_t>(Priority::background)];
  std::cout << "busy: " << critical << " critical calls were answered, " << background
            << " of the background\n";

  service.go_down();
  const int before = service.calls();
  const auto down_at = std::chrono::steady_clock::now();
  ask_for(200ms, client, answers);
  const int reached = service.calls() - before;
  const auto down_for = std::chrono::steady_clock::now() - down_at;
  std::cout << "down: " << reached << " calls went out in " << down_for / 1ms << " ms\n";

  service.come_back();
  const auto give_up_at = std::chrono::steady_clock::now() + 10s;
  while (!client.ask(Priority::critical) && std::chrono::steady_clock::now() < give_up_at) {
    pass_time(1ms);
  }
  const bool back = client.circuit() == weir::Circuit::closed;
  std::cout << "back: " << (back ? "the circuit is closed" : "still open") << '\n';

  std::cout << "in flight above what it can do: " << service.too_many() << '\n';
  // Until 10 of the last 20 have failed; then a probe in each 50 ms, and those on their way.
  const bool spared = reached <= 30 + down_for / Client::open_for;
  return critical > background && spared && back && service.too_many() == 0 &&
                 client.in_flight() == 0
             ? 0
             : 1;
}
