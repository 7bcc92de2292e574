// What a limiter whose states lie in a Redis answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "weir/algorithm/concept.hpp"
#include "weir/local/outcome.hpp"
#include "weir/redis/policy.hpp"
#include "weir/redis/trouble.hpp"

namespace weir::redis {

/// The answer to one request: that of a limiter in this process, how the key stands, and who
/// decided. Instants are the steady clock's, reckoned from when the reply came: never early, and
/// late by no more than the way back took.
struct [[nodiscard]] Outcome : weir::Outcome {
  Cost limit = 0;            ///< the most that is granted at one instant
  Cost remaining = 0;        ///< what is left of it
  SteadyInstant reset_at{};  ///< from then on as if never used
  Source source = Source::store;
  Trouble trouble{};                 ///< where the source is fallback, open or closed
  std::optional<Grant> grant{};      ///< what cancel() takes; none but where the store granted
  PermitId permit = PermitId::none;  ///< of a concurrency limit: what leave() takes
};

/// The answer to a request over several keys.
struct [[nodiscard]] Joint {
  Outcome outcome;
  std::size_t binding = 0;  ///< the claim that refuses, else the one with least left
  /// False: the keys lay in several slots of a cluster, and were taken in turn.
  bool atomic = true;
};

/// What giving back came to.
struct Gift {
  /// Units, or microseconds that a permit is good for; none where the store did not say.
  std::optional<std::int64_t> given{};
  Trouble trouble{};
};

}  // namespace weir::redis
