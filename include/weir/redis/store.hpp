// A store as the limiters see it: something that runs a command and tells what came of it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/steady_instant.hpp"

namespace weir::redis {

/// How a call ended.
enum class CallOutcome : std::uint8_t {
  answered,       ///< the reply says how, and may be an error
  timed_out,      ///< its deadline has passed; it may have run, or may yet
  not_sent,       ///< it never left here: safe to send elsewhere
  indeterminate,  ///< the connection ended: it may have run; not to be sent again unless it cannot
                  ///< count twice
};

const char* name(CallOutcome outcome) noexcept;

/// What a store answered, as far as limiters ask for it.
struct StoreReply {
  enum class Kind : std::uint8_t {
    none,      ///< null, or the call was not answered
    integers,  ///< one integer, or an array of them
    text,      ///< a status or a string
    error,     ///< text: what the server said
  };

  CallOutcome outcome = CallOutcome::not_sent;
  Kind kind = Kind::none;
  std::vector<std::int64_t> integers{};
  std::string text{};  ///< where the call was not answered: why, in words

  bool operator==(const StoreReply&) const = default;
};

/// One command, whole.
struct StoreCall {
  std::span<const std::string_view> words;  ///< the command's name and its arguments
  std::string_view route;                   ///< a key: in a cluster its slot's master is asked
  SteadyInstant deadline_at{};
};

/// Whatever brings a command to a Redis. redis::Client is one; a connection that a program has
/// already becomes one by this function (examples/limits_over_hiredis.cpp).
///
/// A store never sends a call again whose outcome it does not know. Redirects of a cluster, where
/// nothing ran, it follows itself.
///
/// Threads  ask() from any, unless an implementation says otherwise
class Store {
 public:
  using Then = std::function<void(StoreReply&&)>;

  virtual ~Store() = default;

  /// Has the command run, and calls `then` exactly once: at the call's deadline at the latest, give
  /// or take a timer. On any thread, even before ask() returns; `then` must not throw or block. The
  /// words are read before ask() returns.
  virtual void ask(const StoreCall& call, Then then) = 0;

  /// Whether keys lie in slots, as in a cluster: a command's keys must then all lie in one.
  virtual bool has_slots() const noexcept { return false; }

  /// Whether the server that last answered for such a route has weir's module, which decides for
  /// less than the scripts. A guess that proves wrong costs a round trip.
  virtual bool has_module(std::string_view /*route*/) const noexcept { return false; }
};

}  // namespace weir::redis
