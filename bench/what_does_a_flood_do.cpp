// What does a flood of new keys do to the keyed table?
//
// First, what a state costs: resident memory for each of many keys of 16 bytes. Then a table filled
// to half its cap with residents, each beside a machine of its own that the flood cannot touch, and
// a flood of keys that are never seen again. While it lasts residents must answer as their
// machines do, and newcomers that come back must get no more than their limit; how many strangers
// are denied at their first request, and whether memory grows once the cap is reached, is told.
// Where a claim of docs/benchmarks/README.md does not hold, it exits 1.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "weir/local/table.hpp"

namespace weir {
namespace {

using Machine = Limit::Machine;

constexpr const char* usage =
    "usage: what_does_a_flood_do [--states N] [--flood N] [--cap N] [--limit LIMIT] "
    "[--json] [--smoke]\n";

struct Options {
  std::uint64_t states = 10'000'000;
  std::uint64_t flood = 10'000'000;
  std::uint64_t cap = 1'000'000;
  std::string limit = "5/1h";
  bool json = false;
};

bool read_options(int count, char** words, Options& options) {
  for (int at = 1; at < count; ++at) {
    const std::string_view word = words[at];
    if (word == "--json") {
      options.json = true;
      continue;
    }
    if (word == "--smoke") {
      options.states = options.flood = 100'000;
      options.cap = 10'000;
      continue;
    }
    if (word == "--limit" && at + 1 < count) {
      options.limit = words[++at];
      if (const auto limit = Limit::parse(options.limit); !limit) {
        std::fprintf(stderr, "--limit: column %zu: %s\n", limit.error().column,
                     limit.error().message.c_str());
        return false;
      }
      continue;
    }
    std::uint64_t* const number = word == "--states"  ? &options.states
                                  : word == "--flood" ? &options.flood
                                  : word == "--cap"   ? &options.cap
                                                      : nullptr;
    if (!number || ++at == count) return false;
    const std::string_view text = words[at];
    const auto read = std::from_chars(text.data(), text.data() + text.size(), *number);
    if (read.ec != std::errc{} || read.ptr != text.data() + text.size() || *number < 1000) {
      return false;
    }
  }
  return true;
}

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t all = 0;
  std::size_t resident = 0;
  file >> all >> resident;
  return resident * 4096;
}

/// A key of 16 bytes.
class Key {
 public:
  struct Of {
    char kind;
    std::uint64_t number;
  };
  explicit Key(Of of) {
    std::snprintf(bytes_.data(), bytes_.size(), "%c%015llu", of.kind,
                  static_cast<unsigned long long>(of.number));
  }
  operator std::string_view() const { return {bytes_.data(), 16}; }

 private:
  std::array<char, 24> bytes_{};
};

constexpr Instant start{std::chrono::hours(1)};

double bytes_a_state(std::uint64_t states) {
  Rules rules;
  const Rule* rule = rules.find("1000/1d").value();
  const std::size_t before = resident_bytes();
  Table table({.max_keys = states});
  for (std::uint64_t at = 0; at < states; ++at) {
    (void)table.take({rule, Key({'s', at})}, {start});
  }
  const auto grown = static_cast<double>(resident_bytes() - before);
  if (table.stats().keys != states) throw std::runtime_error("not every key is kept");
  return grown / static_cast<double>(states);
}

struct Flooded {
  std::uint64_t resident_answers = 0;
  std::uint64_t resident_changes = 0;  ///< that differ from the machine's
  std::uint64_t most_admitted = 0;     ///< of any newcomer that came back
  std::uint64_t admissible = 0;        ///< what the limit allows it
  std::uint64_t strangers = 0;
  std::uint64_t strangers_denied = 0;
  double bytes_at_cap = 0;
  double bytes_after = 0;
};

Flooded flood(const Options& options) {
  Rules rules;
  const Rule* rule = rules.find(options.limit).value();
  const Machine::Config& config = rule->limit.config();
  Table table({.max_keys = options.cap});
  std::vector<Machine::State> machines(options.cap / 2);
  Instant now = start;
  Flooded result;
  const auto ask_resident = [&](std::uint64_t number) {
    const Request request{now};
    const Decision kept = table.take({rule, Key({'r', number})}, request).decision;
    const Decision own = step<Machine>(config, machines[number], request);
    ++result.resident_answers;
    result.resident_changes += kept != own;
  };
  for (std::uint64_t at = 0; at < machines.size(); ++at) ask_resident(at);

  constexpr std::uint64_t newcomers = 1000;
  std::array<std::uint64_t, newcomers> admitted{};
  for (std::uint64_t at = 0; at < options.flood; ++at) {
    now += Span{1};
    (void)table.take({rule, Key({'f', at})}, {now});
    if (at == options.flood / 4) result.bytes_at_cap = static_cast<double>(resident_bytes());
    if (at % 4 == 0) ask_resident(at * 7919 % machines.size());
    if (at % (options.flood / (20 * newcomers)) == 0) {
      const std::uint64_t who = at / (options.flood / (20 * newcomers)) % newcomers;
      admitted[who] += taken(table.take({rule, Key({'n', who})}, {now}).decision.verdict) ? 1U : 0U;
    }
    if (at >= options.flood / 2 && at % (options.flood / newcomers) == 0) {
      ++result.strangers;
      result.strangers_denied +=
          taken(table.take({rule, Key({'x', at})}, {now}).decision.verdict) ? 0U : 1U;
    }
  }
  const Span lasted = now - start + Span{1};
  result.admissible = static_cast<std::uint64_t>(Machine::bound(config, lasted, 1));
  result.most_admitted = *std::max_element(admitted.begin(), admitted.end());
  result.bytes_after = static_cast<double>(resident_bytes());
  return result;
}

int run(const Options& options) {
  const double bytes = bytes_a_state(options.states);
  const Flooded flooded = flood(options);
  const double mib = 1 << 20;
  const char* const form =
      options.json
          ? "{\"states\": %llu, \"bytes_a_state\": %.1f, \"beyond_the_key\": %.1f, "
            "\"flood\": %llu, \"cap\": %llu, \"limit\": \"%s\", \"resident_answers\": %llu, "
            "\"resident_changes\": %llu, \"most_admitted\": %llu, \"admissible\": %llu, "
            "\"strangers\": %llu, \"strangers_denied\": %llu, \"mib_at_cap\": %.1f, "
            "\"mib_after\": %.1f}\n"
          : "%llu keys of 16 bytes: %.1f bytes a state, %.1f beyond the key\n"
            "%llu new keys against a cap of %llu, limit %s:\n"
            "  %llu answers to residents, %llu changed by the flood\n"
            "  newcomers that came back: at most %llu admitted of %llu admissible\n"
            "  %llu strangers in its second half, %llu denied at their first request\n"
            "  resident memory: %.1f MiB after a quarter of it, %.1f MiB at its end\n";
  const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf(
      form, number(options.states), bytes, bytes - 16, number(options.flood), number(options.cap),
      options.limit.c_str(), number(flooded.resident_answers), number(flooded.resident_changes),
      number(flooded.most_admitted), number(flooded.admissible), number(flooded.strangers),
      number(flooded.strangers_denied), flooded.bytes_at_cap / mib, flooded.bytes_after / mib);
  // Of few keys memory says little: pages, arenas and the program itself are as large.
  const bool is_small = options.states < 1'000'000 || bytes - 16 <= 64;
  const bool is_flat =
      options.flood < 1'000'000 || flooded.bytes_after <= 1.05 * flooded.bytes_at_cap;
  const bool holds = flooded.resident_changes == 0 && flooded.most_admitted <= flooded.admissible &&
                     is_small && is_flat;
  return holds ? 0 : 1;
}

}  // namespace
}  // namespace weir

int main(int count, char** words) {
  weir::Options options;
  if (!weir::read_options(count, words, options)) {
    std::fputs(weir::usage, stderr);
    return 2;
  }
  return weir::run(options);
}
