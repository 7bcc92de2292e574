// What a script's reply says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "redis/trouble.hpp"
#include "weir/algorithm/concept.hpp"
#include "weir/vocabulary.hpp"

namespace weir::redis {

/// The answer to take or peek.
struct Told {
  Decision decision;
  Instant decided_at;
  std::size_t binding = 0;
  std::vector<Grant> grants{};  ///< one for each key of a request that was taken
};

/// One key of the request that is answered.
struct ToldKey {
  Cost cost;
  std::size_t terms;  ///< of its limit
};

/// Reads the reply to take or peek. Whatever is not just what the scripts answer is Trouble: any
/// reply may be given.
Expected<Told, Trouble> read_told(const StoreReply& reply, std::span<const ToldKey> keys);

/// Reads the reply to a verb that answers with one number >= 0.
Expected<std::int64_t, Trouble> read_number(const StoreReply& reply);

/// The marks of a grant as cancel's arguments, for a limit of so many terms.
std::vector<std::int64_t> told_marks(const Grant& grant, std::size_t terms);

}  // namespace weir::redis
