// A decision as the fields of a reply, the same in the server and in the module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weir/vocabulary.hpp"

namespace weir::wire {

/// The fields that every command's map of a decision has: those below, and one of the command's.
inline constexpr std::size_t decision_fields = 7;

/// Writes all but the last of them to what has bulk() and integer(). Requires the map to be
/// announced, the rest to follow.
template <typename Reply>
void write_decision(const Decision& decision, Instant now, Reply& reply) {
  const auto field = [&](std::string_view name, std::int64_t value) {
    reply.bulk(name);
    reply.integer(value);
  };
  const Span until_ready =
      decision.verdict == Verdict::impossible ? Span{-1} : decision.ready_at - now;
  reply.bulk("verdict");
  reply.bulk(name(decision.verdict));
  field("limit", decision.limit);
  field("remaining", decision.remaining);
  field("retry_after_us", taken(decision.verdict) ? 0 : until_ready.count());
  field("ready_after_us", taken(decision.verdict) ? until_ready.count() : -1);
  field("reset_after_us", (decision.reset_at - now).count());
}

}  // namespace weir::wire
