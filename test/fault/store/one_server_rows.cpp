// A store that is gone, starts again, or does not answer.
#include <algorithm>
#include <string>

#include "test/fault/store/rows.hpp"
#include "test/redis/await.hpp"
#include "test/redis/redis_connection.hpp"
#include "test/wire/redis_server.hpp"

namespace weir::test {
namespace {

using std::chrono::milliseconds;

void await_answer(int port) {
  await("the server answers",
        [port] { return RedisConnection(port).run({"PING"}).text == "PONG"; });
}

Figures down_at_start(const Scale& scale) {
  wire::RedisServer server;
  server.kill();
  const std::string url = url_of(server.port());
  return run(scale, {.url = url,
                     .load = load_of(scale, url),
                     .begins = Drill::Begins::without,
                     .heal = [&] { server.restart(); },
                     .count_at = url,
                     .look =
                         [](Figures& figures, const std::vector<Call>& calls, const Load&) {
                           const auto first = std::min_element(
                               calls.begin(), calls.end(), [](const Call& one, const Call& other) {
                                 return one.called_at_ns < other.called_at_ns;
                               });
                           const std::int64_t took = first->returned_at_ns - first->called_at_ns;
                           figures.notes.emplace_back("first decision after",
                                                      std::to_string(took / 1000) + " µs");
                         }});
}

enum class Keeps : std::uint8_t { nothing, append_only_file };

Figures killed(const Scale& scale, Keeps keeps) {
  wire::RedisServer::Extras extras;
  if (keeps == Keeps::append_only_file) extras.arguments = {"--appendonly", "yes"};
  wire::RedisServer server(extras);
  const std::string url = url_of(server.port());
  return run(scale, {.url = url,
                     .load = load_of(scale, url),
                     .fault = [&] { server.kill(); },
                     .heal = [&] { server.restart(); },
                     // Of what is empty again nothing can be counted.
                     .count_at = keeps == Keeps::nothing ? "" : url,
                     // What is empty, or a second old, is granted again: a bucket at most.
                     .excess_bound = Asked::bucket.burst,
                     .lost_bound = charges_a_second});
}

Figures frozen(const Scale& scale) {
  wire::RedisServer server;
  const std::string url = url_of(server.port());
  return run(scale, {.url = url,
                     .load = load_of(scale, url),
                     .fault = [&] { server.freeze(); },
                     .heal = [&] { server.thaw(); },
                     .count_at = url});
}

Figures asleep(const Scale& scale) {
  wire::RedisServer server;
  const std::string url = url_of(server.port());
  wire::Connection connection(server.port());
  const std::string seconds = std::to_string(static_cast<double>(scale.fault.count()) / 1000);
  return run(scale, {.url = url,
                     .load = load_of(scale, url),
                     .fault =
                         [&] {
                           connection.send("*3\r\n$5\r\nDEBUG\r\n$5\r\nSLEEP\r\n$" +
                                           std::to_string(seconds.size()) + "\r\n" + seconds +
                                           "\r\n");
                         },
                     .heal = [&] { await_answer(server.port()); },
                     .count_at = url});
}

Figures busy(const Scale& scale) {
  wire::RedisServer server({.arguments = {"--busy-reply-threshold", "100"}});
  const std::string url = url_of(server.port());
  wire::Connection connection(server.port());
  return run(
      scale,
      {.url = url,
       .load = load_of(scale, url),
       .fault =
           [&] { connection.send("*3\r\n$4\r\nEVAL\r\n$17\r\nwhile true do end\r\n$1\r\n0\r\n"); },
       .heal =
           [&] {
             RedisConnection(server.port()).run({"SCRIPT", "KILL"});
             await_answer(server.port());
           },
       .count_at = url});
}

Figures paused(const Scale& scale, const char* what) {
  wire::RedisServer server;
  const std::string url = url_of(server.port());
  return run(scale,
             {.url = url,
              .load = load_of(scale, url),
              .fault =
                  [&] {
                    RedisConnection(server.port())
                        .must({"CLIENT", "PAUSE", std::to_string(scale.fault.count()), what});
                  },
              .heal = [&] { await_answer(server.port()); },
              .count_at = url});
}

}  // namespace

std::vector<Row> rows_of_one_server() {
  return {
      {"F1", "no Redis at the start", down_at_start},
      {"F2", "`kill -9`, starts again empty",
       [](const Scale& scale) { return killed(scale, Keeps::nothing); }},
      {"F3", "the same with an append-only file, `everysec`",
       [](const Scale& scale) { return killed(scale, Keeps::append_only_file); }},
      {"F4", "SIGSTOP", frozen},
      {"F5", "DEBUG SLEEP", asleep},
      {"F5-busy", "a script that does not end: BUSY", busy},
      {"F6", "CLIENT PAUSE ALL", [](const Scale& scale) { return paused(scale, "ALL"); }},
      {"F6-write", "CLIENT PAUSE WRITE", [](const Scale& scale) { return paused(scale, "WRITE"); }},
  };
}

}  // namespace weir::test
