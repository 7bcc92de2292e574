// A store that forgets its scripts, or has no memory left.
#include <atomic>
#include <string>
#include <thread>

#include "test/fault/store/rows.hpp"
#include "test/redis/redis_connection.hpp"
#include "test/wire/redis_server.hpp"

namespace weir::test {
namespace {

using std::chrono::milliseconds;

/// Does something again and again, until it goes.
class Again {
 public:
  Again(std::function<void()> what, milliseconds every)
      : thread_([this, what = std::move(what), every] {
          while (!stopping_) {
            what();
            std::this_thread::sleep_for(every);
          }
        }) {}
  ~Again() {
    stopping_ = true;
    thread_.join();
  }
  Again(const Again&) = delete;
  Again& operator=(const Again&) = delete;

 private:
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

/// What INFO says behind a name.
std::string info(int port, const std::string& name) {
  const std::string text = RedisConnection(port).must({"INFO", "everything"}).text;
  const std::size_t at = text.find(name);
  if (at == std::string::npos) return "0";
  const std::size_t from = at + name.size() + 1;
  return text.substr(from, text.find_first_of(",\r", from) - from);
}

enum class Runs : std::uint8_t { functions, scripts };

Figures flushed(const Scale& scale, Runs runs) {
  wire::RedisServer::Extras extras;
  if (runs == Runs::scripts) {
    extras.arguments = {"--rename-command", "FCALL", "", "--rename-command", "FUNCTION", ""};
  }
  wire::RedisServer server(extras);
  const std::string url = url_of(server.port());
  Load::Settings load = load_of(scale, url);
  // Long, so that only an error of the store's has the policy decide.
  load.policy.deadline = std::chrono::seconds{10};
  std::unique_ptr<Again> flushing;
  int flushes = 0;
  RedisConnection connection(server.port());
  return run(
      scale,
      {.url = url,
       .load = load,
       .fault =
           [&] {
             flushing = std::make_unique<Again>(
                 [&] {
                   connection.must({runs == Runs::scripts ? "SCRIPT" : "FUNCTION", "FLUSH"});
                   ++flushes;
                 },
                 milliseconds{10});
           },
       .heal = [&] { flushing.reset(); },
       .count_at = url,
       .look =
           [&](Figures& figures, const std::vector<Call>&, const Load&) {
             require(figures, "no error reaches a caller", [&] { return figures.by_policy == 0; });
             const bool scripts = runs == Runs::scripts;
             figures.notes.emplace_back(std::to_string(flushes), "flushes");
             figures.notes.emplace_back(
                 info(server.port(),
                      scripts ? "cmdstat_script|load:calls" : "cmdstat_function|load:calls"),
                 "loads");
             figures.notes.emplace_back(
                 info(server.port(), scripts ? "cmdstat_evalsha:calls" : "cmdstat_fcall:calls"),
                 scripts ? "EVALSHA" : "FCALL");
           }});
}

Figures out_of_memory(const Scale& scale) {
  wire::RedisServer server;
  const std::string url = url_of(server.port());
  const auto allow = [&](const char* bytes) {
    RedisConnection(server.port()).must({"CONFIG", "SET", "maxmemory", bytes});
  };
  return run(scale, {.url = url,
                     .load = load_of(scale, url),
                     .fault = [&] { allow("1"); },
                     .heal = [&] { allow("0"); },
                     .count_at = url});
}

Figures evicting(const Scale& scale) {
  wire::RedisServer server({.arguments = {"--maxmemory-policy", "allkeys-random"}});
  const std::string url = url_of(server.port());
  std::unique_ptr<Again> flooding;
  RedisConnection connection(server.port());
  int keys = 0;
  const auto flood = [&] {
    for (int i = 0; i < 20; ++i) {
      connection.run({"SET", "other" + std::to_string(keys++), std::string(1000, 'x')});
    }
  };
  return run(scale, {.url = url,
                     .load = load_of(scale, url),
                     .fault =
                         [&] {
                           connection.must({"CONFIG", "SET", "maxmemory", "4mb"});
                           flooding = std::make_unique<Again>(flood, milliseconds{1});
                         },
                     .heal =
                         [&] {
                           flooding.reset();
                           connection.must({"CONFIG", "SET", "maxmemory", "0"});
                         },
                     // A bucket that is thrown away is full again, each time.
                     .excess_bound = std::nullopt,
                     .look =
                         [&](Figures& figures, const std::vector<Call>&, const Load&) {
                           figures.notes.emplace_back(info(server.port(), "evicted_keys"),
                                                      "keys evicted");
                         }});
}

}  // namespace

std::vector<Row> rows_of_scripts() {
  return {
      {"F13", "SCRIPT FLUSH every 10 ms, without Functions",
       [](const Scale& scale) { return flushed(scale, Runs::scripts); }},
      {"F13-functions", "FUNCTION FLUSH every 10 ms",
       [](const Scale& scale) { return flushed(scale, Runs::functions); }},
      {"F14", "no memory, `noeviction`: OOM", out_of_memory},
      {"F14-evict", "keys are evicted", evicting},
  };
}

}  // namespace weir::test
