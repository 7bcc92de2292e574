// A network between the callers and the store that does what networks do.
#include <dirent.h>

#include <atomic>
#include <string>
#include <thread>

#include "test/fault/fault_proxy.hpp"
#include "test/fault/store/rows.hpp"
#include "test/wire/redis_server.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

int open_files() {
  int count = 0;
  DIR* const folder = ::opendir("/proc/self/fd");
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count;
}

/// What a network may do, and how the drill is to be judged.
struct Weather {
  std::function<ConnectionFaults(std::uint64_t connection)> faults;
  Drill::Bytes bytes = Drill::Bytes::intact;
  enum class Counted : std::uint8_t { yes, no } counted = Counted::yes;
  std::uint32_t threads = 4;
  std::chrono::microseconds pace{1000};
};

Figures through(const Scale& scale, const Weather& weather) {
  wire::RedisServer server;
  FaultProxy proxy(server.port(), 20261122);
  Drill drill;
  drill.url = url_of(proxy.port());
  drill.load = load_of(scale, drill.url);
  drill.load.threads = weather.threads;
  drill.load.pace = weather.pace;
  drill.bytes = weather.bytes;
  if (weather.bytes == Drill::Bytes::changed) drill.excess_bound = std::nullopt;
  if (weather.counted == Weather::Counted::yes) drill.count_at = url_of(server.port());
  int files = 0;
  drill.fault = [&] {
    files = open_files();
    proxy.set(weather.faults);
  };
  drill.heal = [&] { proxy.heal(); };
  drill.look = [&](Figures& figures, const std::vector<Call>&, const Load& load) {
    const FaultProxy::Stats stats = proxy.stats();
    figures.notes.emplace_back("connections", std::to_string(stats.connections));
    figures.notes.emplace_back("resets", std::to_string(stats.resets));
    figures.notes.emplace_back("late replies", std::to_string(load.stats().late_replies));
    // The connection that is open may be another than before, and so may the proxy's.
    require(figures, "no descriptor is left behind", [&] { return open_files() <= files + 4; });
  };
  return run(scale, drill);
}

Figures lost_replies(const Scale& scale) {
  return through(scale, {.faults = [](std::uint64_t) {
                   return ConnectionFaults{.replies = {.lose_reply_ppm = 5'000}};
                 }});
}

/// TCP never does this; a broken proxy may. Replies have no numbers, so each later one on that
/// connection is taken for its predecessor's, by any client.
Figures dropped_replies(const Scale& scale) {
  return through(
      scale,
      {.faults = [](std::uint64_t) { return ConnectionFaults{.replies = {.drop_reply = 100}}; },
       .bytes = Drill::Bytes::changed,
       .counted = Weather::Counted::no});
}

Figures late_replies(const Scale& scale) {
  return through(scale, {.faults = [](std::uint64_t) {
                   return ConnectionFaults{.replies = {.delay = 200ms, .jitter = 50ms}};
                 }});
}

Figures cut_replies(const Scale& scale) {
  return through(scale, {.faults = [](std::uint64_t connection) {
                   ConnectionFaults faults{.requests = {.piece_bytes = 1},
                                           .replies = {.piece_bytes = 1}};
                   // Behind the handshake's replies, and amid one.
                   const std::size_t place = 8'000 + connection * 37;
                   if (connection % 2 == 0) faults.replies.reset_after = place;
                   if (connection % 2 == 1) faults.replies.close_after = place;
                   return faults;
                 }});
}

Figures pieces(const Scale& scale) {
  return through(scale, {.faults = [](std::uint64_t) {
                   return ConnectionFaults{.requests = {.piece_bytes = 1},
                                           .replies = {.piece_bytes = 1}};
                 }});
}

Figures corrupt(const Scale& scale) {
  return through(
      scale,
      {.faults = [](std::uint64_t) { return ConnectionFaults{.replies = {.corrupt_ppm = 200}}; },
       .bytes = Drill::Bytes::changed,
       .counted = Weather::Counted::no});
}

Figures duplicated(const Scale& scale) {
  return through(scale, {.faults =
                             [](std::uint64_t) {
                               return ConnectionFaults{.replies = {.duplicate_ppm = 2'000}};
                             },
                         .bytes = Drill::Bytes::changed,
                         .counted = Weather::Counted::no});
}

Figures slow_link(const Scale& scale) {
  return through(scale, {.faults =
                             [](std::uint64_t) {
                               return ConnectionFaults{.requests = {.bytes_per_second = 125'000},
                                                       .replies = {.bytes_per_second = 125'000}};
                             },
                         // Twice as much as it carries.
                         .threads = 64,
                         .pace = 16ms});
}

}  // namespace

std::vector<Row> rows_of_a_network() {
  return {
      {"F15", "one reply in 200 lost after the commit, with its connection", lost_replies},
      {"F15-drop", "one reply amid others left out, as no network does", dropped_replies},
      {"F16", "replies 200 to 250 ms late", late_replies},
      {"F17", "single bytes, and reset or half-close amid a reply", cut_replies},
      {"F17-split", "single bytes", pieces},
      {"F17-corrupt", "one byte of replies in 5000 corrupt", corrupt},
      {"F17-double", "one read of replies in 500 comes twice", duplicated},
      {"F18", "1 Mbit/s each way", slow_link},
  };
}

}  // namespace weir::test
