// How fast is the client beside redis-benchmark? Fifty callers, each with one call under way, ask
// the same function over 100 000 keys: by callbacks, and as threads that wait. redis-benchmark asks
// with fifty connections and sixteen calls in each write. The three take turns, and medians count.
//
//   how_fast_is_the_redis_client [--smoke]
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "redis/scripts.hpp"
#include "test/redis/redis_connection.hpp"
#include "test/wire/redis_server.hpp"
#include "weir/overload/chance.hpp"
#include "weir/redis/client.hpp"

namespace weir::bench {
namespace {

using Clock = std::chrono::steady_clock;
using redis::StoreReply;

constexpr int callers = 50;
constexpr std::uint64_t keys = 100'000;
constexpr std::string_view limit = "t 60000000 10 0 1 100";  // grants every call of a run

constexpr std::string_view constant = R"(#!lua name=constant
redis.register_function('constant', function()
  return {0, 1795163520648898, 1795163520648898, 100, 99, 1795163520648898, 0, 1795163520648898, 0}
end)
)";

/// One way of asking: calls a second.
struct Way {
  const char* name;
  std::function<double(const std::string& function, int calls)> ask;
  std::vector<double> rates{};
};

double rate(int calls, Clock::time_point begin_at) {
  return calls / std::chrono::duration<double>(Clock::now() - begin_at).count();
}

/// Nobody is counted who was not answered.
void check(const StoreReply& reply) {
  if (reply.kind == StoreReply::Kind::integers) return;
  std::cerr << "a call went wrong: " << redis::name(reply.outcome) << ' ' << reply.text << '\n';
  std::abort();
}

void ask(redis::Store& store, const std::string& function, std::uint64_t& seed,
         redis::Store::Then then) {
  const std::string key = "weir:{" + std::to_string(next_random(seed) % keys) + "}:x";
  const std::array<std::string_view, 7> words{"FCALL", function, "1", key, limit, "1", "-1"};
  store.ask({.words = words, .route = key, .deadline_at = Clock::now() + std::chrono::seconds{5}},
            std::move(then));
}

/// A caller that asks anew with each answer.
struct Chain {
  redis::Store& store;
  const std::string& function;
  std::uint64_t seed;
  int left;
  std::counting_semaphore<callers>& done;

  void next() {
    if (left-- == 0) return done.release();
    ask(store, function, seed, [this](StoreReply&& reply) {
      check(reply);
      next();
    });
  }
};

double by_callbacks(redis::Store& store, const std::string& function, int calls) {
  std::counting_semaphore<callers> done(0);
  std::vector<Chain> chains;
  for (std::uint64_t i = 0; i < callers; ++i) {
    chains.push_back({store, function, i, calls / callers, done});
  }
  const auto begin_at = Clock::now();
  for (Chain& chain : chains) chain.next();
  for (int i = 0; i < callers; ++i) done.acquire();
  return rate(calls, begin_at);
}

double by_threads(redis::Store& store, const std::string& function, int calls) {
  std::vector<std::thread> threads;
  const auto begin_at = Clock::now();
  for (std::uint64_t i = 0; i < callers; ++i) {
    threads.emplace_back([&, seed = i]() mutable {
      std::binary_semaphore answered(0);
      for (int left = calls / callers; left > 0; --left) {
        ask(store, function, seed, [&answered](StoreReply&& reply) {
          check(reply);
          answered.release();
        });
        answered.acquire();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return rate(calls, begin_at);
}

double by_redis_benchmark(int port, const std::string& function, int calls) {
  const std::string command = "redis-benchmark -p " + std::to_string(port) + " -c 50 -P 16 -r " +
                              std::to_string(keys) + " -n " + std::to_string(calls) +
                              " --csv FCALL " + function + " 1 'weir:{__rand_int__}:x' '" +
                              std::string(limit) + "' 1 -1";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> output(::popen(command.c_str(), "r"),
                                                               ::pclose);
  if (!output) throw std::runtime_error("redis-benchmark does not start");
  double rps = 0;
  std::array<char, 4096> line{};
  while (std::fgets(line.data(), line.size(), output.get()) != nullptr) {
    // "FCALL ...","123456.78",...: the second column of the last line.
    const std::string_view text = line.data();
    const std::size_t at = text.find("\",\"");
    if (at != std::string_view::npos) std::sscanf(text.data() + at + 3, "%lf", &rps);
  }
  if (rps <= 0) throw std::runtime_error("redis-benchmark says nothing; is it installed?");
  return rps;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// How long each way asks, and how often it has its turn.
struct Effort {
  int calls;
  int rounds;
};

int run(const Effort& effort) {
  const wire::RedisServer server;
  test::RedisConnection connection(server.port());
  connection.must({"FUNCTION", "LOAD", std::string(constant)});
  connection.must({"FUNCTION", "LOAD", redis::function_library()});
  auto client = redis::Client::connect("redis://127.0.0.1:" + std::to_string(server.port()));
  if (!client) throw std::runtime_error(client.error().message);
  redis::Client& store = **client;
  for (const std::string function : {"constant", "weir_1_take"}) {
    std::array<Way, 3> ways{{
        {"redis-benchmark -c 50 -P 16",
         [&](const auto& f, int n) { return by_redis_benchmark(server.port(), f, n); }},
        {"50 callers, callbacks", [&](const auto& f, int n) { return by_callbacks(store, f, n); }},
        {"50 callers, threads", [&](const auto& f, int n) { return by_threads(store, f, n); }},
    }};
    for (int round = 0; round < effort.rounds; ++round) {
      for (Way& way : ways) way.rates.push_back(way.ask(function, effort.calls));
    }
    const double base = median(ways[0].rates);
    for (const Way& way : ways) {
      const double at = median(way.rates);
      std::printf("%-12s %-28s %9.0f calls/s  %4.0f %%\n", function.c_str(), way.name, at,
                  100 * at / base);
    }
  }
  return 0;
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  const bool smoke = argc == 2 && std::string_view(argv[1]) == "--smoke";
  try {
    return smoke ? weir::bench::run({.calls = 1'000, .rounds = 1})
                 : weir::bench::run({.calls = 100'000, .rounds = 5});
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
