// What stands before a simulated service and says which calls go in.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/input.hpp"
#include "weir/overload/call.hpp"

namespace weir::cli {

class Protection {
 public:
  /// Where it learns that a call has ended.
  enum class Seat : std::uint8_t {
    door,    ///< of the service: when the answer is ready, in time or late
    caller,  ///< beside the caller: when the answer comes or the caller gives up
  };

  struct Asked {
    SteadyInstant now;
    std::int64_t in_flight;      ///< without the one that asks
    std::int32_t busy_permille;  ///< of the servers
  };

  /// What it remembers of a call that it let in.
  struct Mark {
    std::uint64_t value = 0;
  };

  Protection() = default;
  Protection(const Protection&) = delete;
  Protection& operator=(const Protection&) = delete;
  virtual ~Protection() = default;

  virtual Seat seat() const { return Seat::door; }
  /// Nothing where the call is refused.
  virtual std::optional<Mark> enter(const Asked& asked) = 0;
  virtual void ended(Mark mark, const CallSample& sample) = 0;
  /// The most calls that may be in flight; 0 where that is no concern of it.
  virtual std::int64_t limit() const { return 0; }
};

/// A protection as people name it: "none", "fixed 40".
struct NamedProtection {
  std::string name;
  std::unique_ptr<Protection> machine;
};

/// What may be named, as an error tells it and a shell completes it.
const std::vector<std::string>& protection_names();

Expected<NamedProtection, InputError> read_protection(const Input& input);

}  // namespace weir::cli
