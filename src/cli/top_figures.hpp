// What weir top knows of a server: what it was told, and what two tellings come to.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/json.hpp"
#include "wire/resp_reader.hpp"

namespace weir::cli {

/// A key that is asked for, or refused, more than most.
struct TopKey {
  std::string begin;       ///< any bytes; the server keeps no more of it
  std::int64_t bytes = 0;  ///< of the whole key
  std::string limit{};
  double calls_per_s = 0;
  double error_per_s = 0;
};

/// What the server told at one time. Numbers without `per_s` count from its start.
struct TopReading {
  struct Limit {
    std::string name;
    std::array<std::int64_t, 4> decisions{};  ///< by verdict
  };

  std::int64_t at_us = 0;
  std::string version{};
  std::int64_t up_s = 0;
  std::int64_t connections = 0;
  std::int64_t keys = 0;
  std::int64_t table_bytes = 0;
  std::int64_t resident_bytes = 0;
  std::int64_t commands = 0;
  std::int64_t shared_decisions = 0;
  double cpu_s = 0;
  std::vector<Limit> limits{};
  std::vector<TopKey> hottest{};
  std::vector<TopKey> most_refused{};
};

/// Of the replies to WEIR.TOP and INFO; nothing where they are not those of a weir.
struct TopReplies {
  const wire::Reply& top;
  const wire::Reply& info;
};
std::optional<TopReading> read_top(const TopReplies& replies);

/// What went on between two readings.
struct TopFigures {
  struct Limit {
    std::string name;
    std::array<double, 4> decisions_per_s{};  ///< by verdict

    double all_per_s() const;
    /// Of all decisions, from 0 to 1; nothing where there were none.
    std::optional<double> refused() const;
  };

  TopReading now;  ///< the later one
  double span_s = 0;
  double commands_per_s = 0;
  double shared_per_s = 0;
  double cpu = 0;               ///< processors' worth of time
  Limit all{};                  ///< of every limit together
  std::vector<Limit> limits{};  ///< the busiest first
};

struct TopReadings {
  const TopReading& before;
  const TopReading& after;
};
TopFigures between(const TopReadings& readings);

/// Bytes that strangers chose, as printable ASCII: others, and the backslash, as \x1b.
std::string escaped(std::string_view bytes);

wire::Json as_json(const TopFigures& figures);

}  // namespace weir::cli
