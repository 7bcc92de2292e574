// A limit as scripts are told it, read back.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "weir/limit.hpp"

namespace weir::redis {

/// What a state in a store is decided by.
struct ToldLimit {
  Limit::Machine::Config config;
  Span slack;  ///< the longest patience that is granted (decision 0012)

  bool operator==(const ToldLimit&) const = default;
};

/// Reads what config_text() writes; nothing where the text is otherwise, or its numbers are beyond
/// what the scripts take. Any text may be given.
std::optional<ToldLimit> read_told_limit(std::string_view text);

/// Of a limit of how many terms its config is.
std::size_t term_count(const Limit::Machine::Config& config) noexcept;

}  // namespace weir::redis
