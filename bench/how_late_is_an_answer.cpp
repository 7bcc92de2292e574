// How late is an answer while the server is half busy, over each protocol?
//
// First a closed loop finds the rate that the server sustains: 50 connections, one question in
// flight on each. Then questions are sent at half of it on a fixed schedule, to the connections in
// turn, and an answer's lateness counts from the instant when its question was due: who waits
// behind a stall is seen (Tene's coordinated omission). The floor answers RESP with a constant: its
// lateness is that of the machine and of the client. Server and client have a thread each, and want
// a processor each; "sent" tells how late the client itself was. Rounds alternate between servers.
// "flooded" is gRPC while somebody else connects once a second and begins and resets 200 000
// calls on each connection, or as many as the server hears.
// Shown is the round whose p99.9 was least, for whatever else ran only added to it, and beside it
// the median of them all.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bench/open_load.hpp"
#include "test/server/server_process.hpp"

namespace weir::bench {
namespace {

using std::chrono::nanoseconds;

struct Options {
  std::string weir = WEIR_BINARY;
  int rounds = 3;
  nanoseconds lasts = std::chrono::seconds(5);
};

constexpr const char* usage = "usage: how_late_is_an_answer [--weir PATH] [--rounds N] [--smoke]\n";

std::optional<Options> options_from(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--smoke") {
      options.rounds = 1;
      options.lasts = std::chrono::milliseconds(100);
      continue;
    }
    if (i + 1 == arguments.size()) return std::nullopt;
    const std::string& name = arguments[i];
    const std::string& value = arguments[++i];
    if (name == "--weir") {
      options.weir = value;
    } else if (name == "--rounds") {
      const char* const end = value.data() + value.size();
      const auto [read, error] = std::from_chars(value.data(), end, options.rounds);
      if (error != std::errc{} || read != end || options.rounds < 1) return std::nullopt;
    } else {
      return std::nullopt;
    }
  }
  return options;
}

/// One round of one server.
struct Figures {
  double sustained = 0;  ///< questions a second
  double asked = 0;
  double p50_us = 0;
  double p99_us = 0;
  double p999_us = 0;
  double most_us = 0;
  double sent_p999_us = 0;
};

struct Row {
  std::string name;
  const Protocol* protocol;
  bool of_floor = false;
  bool flooded = false;
  std::vector<Figures> rounds{};
};

/// Somebody who begins and abandons calls, beside who is measured.
class Flood {
 public:
  explicit Flood(std::uint16_t port) : port_(port) {}

  ~Flood() {
    thread_.request_stop();
    thread_.join();
    std::fprintf(stderr, "flood: %llu connections; the longest lived took %.1f MB of %.1f\n",
                 static_cast<unsigned long long>(connections_), most_taken_ / 1e6,
                 static_cast<double>(bytes_.size()) / 1e6);
  }
  Flood(const Flood&) = delete;
  Flood& operator=(const Flood&) = delete;

 private:
  void run(const std::stop_token& ended) {
    for (; !ended.stop_requested(); std::this_thread::sleep_for(std::chrono::seconds(1))) {
      const int to = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_port = htons(port_);
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      if (::connect(to, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
        send_all(to);
        ++connections_;
      }
      ::close(to);
    }
  }

  void send_all(int to) {
    std::size_t sent = 0;
    while (sent < bytes_.size()) {
      const ssize_t size = ::send(to, bytes_.data() + sent, bytes_.size() - sent, MSG_NOSIGNAL);
      if (size < 0) break;
      sent += static_cast<std::size_t>(size);
    }
    most_taken_ = std::max(most_taken_, static_cast<double>(sent));
  }

  std::uint16_t port_;
  std::string bytes_ = abandoned_calls(200'000);
  std::uint64_t connections_ = 0;
  double most_taken_ = 0;
  std::jthread thread_{[this](const std::stop_token& ended) { run(ended); }};
};

double at(std::vector<nanoseconds>& values, double share) {
  const auto place = static_cast<std::ptrdiff_t>(static_cast<double>(values.size() - 1) * share);
  std::ranges::nth_element(values, values.begin() + place);
  return std::chrono::duration<double, std::micro>(values[static_cast<std::size_t>(place)]).count();
}

Figures measure(const Row& row, const Options& options) {
  std::vector<std::string> command{FLOOR_BINARY, "127.0.0.1:0"};
  if (!row.of_floor) {
    command = {options.weir, "serve", "--threads",           "1",   "--metrics", "off",
               "--rate",     "1M/1s", "--max-http-requests", "100M"};
    for (const Protocol* each : protocols()) {
      command.push_back("--" + each->listener());
      // Who speaks RESP cannot be left out.
      command.emplace_back(each == row.protocol || each->listener() == "resp" ? "127.0.0.1:0"
                                                                              : "off");
    }
  }
  const std::string listener = row.protocol->listener();
  const test::ServerProcess server({.arguments = command, .listeners = {listener}});
  OpenLoad load{.port = server.port(listener), .lasts = options.lasts / 4};
  run(*row.protocol, load);  // what is warm afterwards is so in all of them
  const double seconds = std::chrono::duration<double>(load.lasts).count();
  Figures figures;
  figures.sustained = static_cast<double>(run(*row.protocol, load).answered.size()) / seconds;
  figures.asked = figures.sustained / 2;
  load.lasts = options.lasts;
  load.every = nanoseconds(static_cast<std::int64_t>(1e9 / figures.asked));
  std::optional<Flood> flood;
  if (row.flooded) flood.emplace(load.port);
  Lateness lateness = run(*row.protocol, load);
  flood.reset();
  figures.p50_us = at(lateness.answered, 0.5);
  figures.p99_us = at(lateness.answered, 0.99);
  figures.p999_us = at(lateness.answered, 0.999);
  figures.most_us = at(lateness.answered, 1);
  figures.sent_p999_us = at(lateness.asked, 0.999);
  return figures;
}

void print(const Options& options, std::vector<Row>& rows) {
  utsname name{};
  uname(&name);
  double load = 0;
  getloadavg(&load, 1);
  char day[16];
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::strftime(day, sizeof(day), "%Y-%m-%d", &parts);
  std::printf("%s, %u cores, %s %s %s, load average %.1f; 50 connections, %.1f s, %d rounds\n", day,
              std::thread::hardware_concurrency(), name.sysname, name.release, name.machine, load,
              std::chrono::duration<double>(options.lasts).count(), options.rounds);
  std::printf("%-12s%10s%10s%8s%8s%8s%8s%12s%14s\n", "us late", "most/s", "asked/s", "p50", "p99",
              "p99.9", "most", "sent p99.9", "median p99.9");
  for (Row& row : rows) {
    std::ranges::sort(row.rounds, {}, &Figures::p999_us);
    const Figures& least = row.rounds.front();
    std::printf("%-12s%10.0f%10.0f%8.0f%8.0f%8.0f%8.0f%12.0f%14.0f\n", row.name.c_str(),
                least.sustained, least.asked, least.p50_us, least.p99_us, least.p999_us,
                least.most_us, least.sent_p999_us, row.rounds[row.rounds.size() / 2].p999_us);
  }
}

}  // namespace
}  // namespace weir::bench

int main(int count, char** arguments) {
  using namespace weir::bench;
  const auto options = options_from({arguments + 1, arguments + count});
  if (!options) {
    std::fputs(usage, stderr);
    return 2;
  }
  try {
    std::vector<Row> rows{{"floor, RESP", protocols().front(), true}};
    for (const Protocol* protocol : protocols()) rows.push_back({protocol->name(), protocol});
    rows.push_back({"flooded", protocols().back(), false, true});
    for (int round = 0; round < options->rounds; ++round) {
      for (Row& row : rows) row.rounds.push_back(measure(row, *options));
    }
    print(*options, rows);
  } catch (const std::exception& reason) {
    std::fprintf(stderr, "%s\n", reason.what());
    return 1;
  }
  return 0;
}
