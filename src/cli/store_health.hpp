// Whether a Redis can keep limits as planned: its answers in, findings out.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/health.hpp"
#include "weir/vocabulary.hpp"
#include "wire/resp_reader.hpp"

namespace weir::cli {

/// Why a server gave no answer.
struct NoAnswer {
  std::string why;
};

/// A server that limits are to lie in. Tests bring their own.
struct AskedStore {
  /// Any command; an error of the server's is an answer.
  std::function<Expected<wire::Reply, NoAnswer>(const std::vector<std::string>& words)> ask;
  /// This machine's wall clock, since 1970.
  std::function<std::chrono::microseconds()> now;
  std::string url{};  ///< as people name it in commands
  enum class Reached : std::uint8_t { directly, through_sentinel, in_cluster };
  Reached reached = Reached::directly;  ///< as the URL says
};

/// Asks, and tries the scripts on keys of its own, which expire within two seconds. In a fixed
/// order, one finding for each subject; what may not be asked is a finding too.
std::vector<Finding> examine_store(const AskedStore& store);

}  // namespace weir::cli
