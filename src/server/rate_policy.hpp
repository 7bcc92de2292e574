// How a limit's decision is told to clients.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "weir/http/rate_fields.hpp"
#include "weir/limit.hpp"

namespace weir::server {

/// What several terms grant in a window is no single number: then it is what this decision allows.
/// Where no state was asked, nobody knows until when.
inline http::RatePolicy policy_of(std::string_view name, const Limit& limit,
                                  const Decision& decision, Instant decided_at) {
  const LimitTerm* const term = limit.only_term();
  std::optional<Span> reset_after;
  if (decision.reset_at != Instant()) {
    reset_after = std::max(Span{0}, decision.reset_at - decided_at);
  }
  return {.name = name,
          .quota = term ? term->count : decision.limit,
          .window = term ? term->window() : std::nullopt,
          .remaining = decision.remaining,
          .reset_after = reset_after};
}

/// The lines of an HTTP response's head, each with its end.
inline std::string rate_lines(http::RateDialect dialect, const http::RateStanding& standing) {
  std::string lines;
  http::RateFields::write(dialect, standing, [&lines](const http::Field& field) {
    lines.append(field.name).append(": ").append(field.value).append("\r\n");
  });
  return lines;
}

}  // namespace weir::server
