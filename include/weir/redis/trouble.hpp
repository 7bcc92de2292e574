// Why a store did not decide.
#pragma once

#include <cstdint>
#include <string>

namespace weir::redis {

/// Why the store did not decide.
enum class TroubleKind : std::uint8_t {
  none,
  timed_out,    ///< no answer by the deadline, or the connection ended: it may have counted
  unreachable,  ///< nobody to ask, or the breaker is open: nothing ran
  unavailable,  ///< it says that it cannot now: loading, a failover, out of memory, busy
  refused,      ///< it says that it never will: rights, a key that holds something else, a limit
                ///< that no store can keep
  garbled,      ///< it answered what no script of weir's answers: it may have counted
};

const char* name(TroubleKind kind) noexcept;

struct Trouble {
  TroubleKind kind = TroubleKind::none;
  std::string message{};  ///< what the store said, or what to do

  explicit operator bool() const noexcept { return kind != TroubleKind::none; }
  bool operator==(const Trouble&) const = default;
};

}  // namespace weir::redis
