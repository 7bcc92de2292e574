// What does a request cost the server's processor, beside a server that only answers?
//
// Each round starts every server afresh, one after the other, so that whatever the machine does in
// the meantime falls on all alike; a ratio is taken within a round, and the median over the rounds.
// Closed loop: 50 connections, each with `pipeline` requests in flight. The keys are warm, and
// nearly all requests are granted; the table says how many.
#include <sys/utsname.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "bench/peer.hpp"
#include "test/server/load/resp_load.hpp"

namespace weir::bench {
namespace {

struct Options {
  Programs programs{.floor = FLOOR_BINARY, .weir = WEIR_BINARY};
  std::vector<std::string> peers{"floor", "weir"};
  int pairs = 7;
  std::uint64_t keys = 100'000;
  std::uint32_t clients = 50;
  std::int64_t requests_unpipelined = 200'000;
  std::int64_t requests_pipelined = 600'000;
  enum class Form { table, json } form = Form::table;
};

constexpr std::uint32_t pipelines[] = {1, 16};

constexpr const char* usage =
    "usage: what_does_a_request_cost [--peer redis-lua] [--peer redis-incr] [--pairs N] [--keys "
    "N]\n"
    "                                [--weir PATH] [--floor PATH] [--json] [--smoke]\n";

template <typename Integer>
bool read_number(const std::string& text, Integer& number) {
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  return read.ec == std::errc{} && read.ptr == end && number > 0;
}

std::optional<Options> options_from(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = arguments[i];
    if (name == "--json") {
      options.form = Options::Form::json;
      continue;
    }
    if (name == "--smoke") {
      options.pairs = 1;
      options.keys = 500;
      options.requests_unpipelined = 1'000;
      options.requests_pipelined = 2'000;
      continue;
    }
    if (++i == arguments.size()) return std::nullopt;
    const std::string& value = arguments[i];
    if (name == "--peer" && peer_named(value, options.programs)) {
      options.peers.push_back(value);
    } else if (name == "--pairs") {
      if (!read_number(value, options.pairs)) return std::nullopt;
    } else if (name == "--keys") {
      if (!read_number(value, options.keys)) return std::nullopt;
    } else if (name == "--weir") {
      options.programs.weir = value;
    } else if (name == "--floor") {
      options.programs.floor = value;
    } else {
      return std::nullopt;
    }
  }
  return options;
}

struct Cost {
  double cpu_us_a_request;
  double requests_a_second;
  double granted;  ///< of all that were answered, 0 to 1
};

/// One server, from its start to its end.
Cost measure(const Peer& peer, const Options& options, std::uint32_t pipeline) {
  const Running running = peer.start();
  if (const auto wrong = peer.wrong_answer(running)) {
    throw std::runtime_error(peer.name() + " answers wrongly: " + *wrong);
  }
  load::Load load{.port = running.port,
                  .question = running.question,
                  .keys = {.count = options.keys},
                  .requests = 2 * static_cast<std::int64_t>(options.keys),
                  .connections = options.clients,
                  .pipeline = 16,
                  .keep = load::Load::Keep::counts};
  load::run(load);  // Most keys exist from here on.

  load.seed = 2;
  load.pipeline = pipeline;
  load.requests = pipeline == 1 ? options.requests_unpipelined : options.requests_pipelined;
  const auto before = cpu_time(running.server->pid());
  const load::Outcome outcome = load::run(load);
  const auto used = cpu_time(running.server->pid()) - before;
  if (outcome.absurd > 0) throw std::runtime_error(peer.name() + ": " + outcome.first_absurdity);
  const auto requests = static_cast<double>(outcome.answered);
  return {
      .cpu_us_a_request = std::chrono::duration<double, std::micro>(used).count() / requests,
      .requests_a_second = requests / std::chrono::duration<double>(outcome.took).count(),
      .granted = static_cast<double>(outcome.admitted) / requests,
  };
}

struct Spread {
  double least;
  double median;
  double most;
};

Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {.least = values.front(), .median = median, .most = values.back()};
}

/// The rounds of one server at one pipeline depth.
struct Row {
  std::string peer;
  std::string answers;
  std::uint32_t pipeline;
  std::vector<Cost> costs{};
  std::vector<double> ratios{};  ///< to the floor of the same round

  Spread of(double Cost::*figure) const {
    std::vector<double> values;
    for (const Cost& cost : costs) values.push_back(cost.*figure);
    return spread_of(values);
  }
};

std::vector<std::unique_ptr<Peer>> present_peers(const Options& options) {
  std::vector<std::unique_ptr<Peer>> peers;
  for (const std::string& name : options.peers) {
    auto peer = peer_named(name, options.programs);
    if (const auto absence = peer->absence()) {
      std::fprintf(stderr, "skipped: %s: %s\n", name.c_str(), absence->c_str());
    } else {
      peers.push_back(std::move(peer));
    }
  }
  return peers;
}

std::vector<Row> compare(const Options& options) {
  const auto peers = present_peers(options);
  std::vector<Row> rows;
  for (const std::uint32_t pipeline : pipelines) {
    const std::size_t first = rows.size();
    for (const auto& peer : peers) rows.push_back({peer->name(), peer->answers(), pipeline});
    for (int pair = 0; pair < options.pairs; ++pair) {
      for (std::size_t i = 0; i < peers.size(); ++i) {
        Row& row = rows[first + i];
        row.costs.push_back(measure(*peers[i], options, pipeline));
        // The floor is the first peer; where it is absent there is nothing to compare with.
        if (peers[0]->name() != "floor") continue;
        row.ratios.push_back(row.costs.back().cpu_us_a_request /
                             rows[first].costs.back().cpu_us_a_request);
      }
    }
  }
  return rows;
}

std::string date() {
  char text[32];
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::strftime(text, sizeof(text), "%Y-%m-%d", &parts);
  return text;
}

/// Where this ran, and what else ran there: figures from a busy machine are to be read as such.
std::string machine() {
  utsname name{};
  uname(&name);
  double load = 0;
  getloadavg(&load, 1);
  char text[256];
  std::snprintf(text, sizeof(text), "%u cores, %s %s %s, load average %.1f",
                std::thread::hardware_concurrency(), name.sysname, name.release, name.machine,
                load);
  return text;
}

void print_table(const Options& options, const std::vector<Row>& rows) {
  std::printf("%s, %s; %u clients, %llu keys, %lld and %lld requests, %d pairs\n", date().c_str(),
              machine().c_str(), options.clients, static_cast<unsigned long long>(options.keys),
              static_cast<long long>(options.requests_unpipelined),
              static_cast<long long>(options.requests_pipelined), options.pairs);
  std::printf("%-8s  %-10s  %22s  %20s  %9s  %8s  %s\n", "pipeline", "server", "CPU us/request",
              "ratio to floor", "request/s", "granted", "answers");
  for (const Row& row : rows) {
    const Spread cpu = row.of(&Cost::cpu_us_a_request);
    std::printf("%8u  %-10s  %6.3f (%6.3f..%6.3f)", row.pipeline, row.peer.c_str(), cpu.median,
                cpu.least, cpu.most);
    if (row.ratios.empty()) {
      std::printf("  %20s", "-");
    } else {
      const Spread ratio = spread_of(row.ratios);
      std::printf("  %6.2f (%5.2f..%5.2f)", ratio.median, ratio.least, ratio.most);
    }
    std::printf("  %9.0f  %7.1f%%  %s\n", row.of(&Cost::requests_a_second).median,
                100 * row.of(&Cost::granted).median, row.answers.c_str());
  }
}

void print_spread(const char* name, const Spread& spread) {
  std::printf("\"%s\": {\"median\": %.4f, \"least\": %.4f, \"most\": %.4f}", name, spread.median,
              spread.least, spread.most);
}

void print_json(const Options& options, const std::vector<Row>& rows) {
  std::printf("{\"date\": \"%s\", \"machine\": \"%s\", \"clients\": %u, \"keys\": %llu, ",
              date().c_str(), machine().c_str(), options.clients,
              static_cast<unsigned long long>(options.keys));
  std::printf("\"pairs\": %d, \"rows\": [", options.pairs);
  const char* separator = "\n";
  for (const Row& row : rows) {
    std::printf("%s  {\"pipeline\": %u, \"server\": \"%s\", \"answers\": \"%s\", ", separator,
                row.pipeline, row.peer.c_str(), row.answers.c_str());
    print_spread("cpu_us_a_request", row.of(&Cost::cpu_us_a_request));
    if (!row.ratios.empty()) {
      std::printf(", ");
      print_spread("ratio_to_floor", spread_of(row.ratios));
    }
    std::printf(", ");
    print_spread("requests_a_second", row.of(&Cost::requests_a_second));
    std::printf(", ");
    print_spread("granted", row.of(&Cost::granted));
    std::printf("}");
    separator = ",\n";
  }
  std::printf("\n]}\n");
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
    const std::vector<Row> rows = compare(*options);
    if (options->form == Options::Form::json) {
      print_json(*options, rows);
    } else {
      print_table(*options, rows);
    }
  } catch (const std::exception& reason) {
    std::fprintf(stderr, "%s\n", reason.what());
    return 1;
  }
  return 0;
}
