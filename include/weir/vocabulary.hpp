// The words that every layer shares: time, cost, request, decision.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace weir {

/// A length of time in ticks. A tick is one microsecond wherever state is shared or stored.
using Span = std::chrono::duration<std::int64_t, std::micro>;

/// The clock that a host reads and an algorithm cannot: it has no now(), so reading the time inside
/// a decision does not compile.
struct HostClock {
  using rep = Span::rep;
  using period = Span::period;
  using duration = Span;
  using time_point = std::chrono::time_point<HostClock>;
  static constexpr bool is_steady = true;
};

/// A point in time as the host told it: ticks since the host clock's epoch (Unix time where state
/// is shared). Algorithms accept instants between -2^52 and 2^52 ticks (years 1827 to 2112) and
/// then cannot overflow.
using Instant = HostClock::time_point;

/// What "never" looks like in a Decision whose verdict is `impossible`.
inline constexpr Instant never = Instant::max();

/// Units that a request takes: calls, bytes, tokens. Zero asks without taking.
using Cost = std::int64_t;

/// No capacity, period or patience may be longer (35 years). Two such spans and an instant still
/// add up to less than 2^53, the last integer that a Lua number holds exactly.
inline constexpr Span longest_span{std::int64_t{1} << 50};

/// Names a grant that its holder may give back when it is done, or keep for longer: no other under
/// the same key and limit ever has its number. From 1 on, below 2^53.
enum class PermitId : std::int64_t { none = 0 };

/// One request against one key.
struct Request {
  Instant now{};  ///< the host's reading of its clock
  Cost cost = 1;  ///< >= 0
  /// How long the caller would wait for its turn, 0 to longest_span. Absent: as long as the limit
  /// itself lets it (a leaky bucket's queue; otherwise not at all).
  std::optional<Span> patience{};
};

/// What became of a request.
enum class Verdict : std::uint8_t {
  granted,   ///< taken: act now
  deferred,  ///< taken: act at ready_at
  denied,    ///< nothing taken: the same request would be taken at ready_at, and not a tick earlier
  /// Nothing taken, and never will be: the cost is above the limit's capacity, or above its burst
  /// and the patience too short to pay for it.
  impossible,
};

constexpr bool taken(Verdict verdict) noexcept { return verdict <= Verdict::deferred; }

constexpr const char* name(Verdict verdict) noexcept {
  constexpr const char* names[] = {"granted", "deferred", "denied", "impossible"};
  return names[static_cast<std::uint8_t>(verdict)];
}

/// The answer to one request.
struct [[nodiscard]] Decision {
  Verdict verdict = Verdict::denied;
  Instant ready_at = never;  ///< see Verdict; the request's own now when granted
  Cost limit = 0;            ///< the most that can be granted at one instant
  Cost remaining = 0;        ///< what a request at the same instant would still be granted
  Instant reset_at{};        ///< from then on the key is as if never seen; now when it already is

  bool operator==(const Decision&) const = default;
};

/// A value, or the reason why there is none. (std::expected needs C++23.)
template <typename Value, typename Error>
class [[nodiscard]] Expected {
  static_assert(!std::is_same_v<Value, Error>);

 public:
  constexpr Expected(Value value) : content_(std::in_place_index<0>, std::move(value)) {}
  constexpr Expected(Error error) : content_(std::in_place_index<1>, std::move(error)) {}

  constexpr bool has_value() const noexcept { return content_.index() == 0; }
  constexpr explicit operator bool() const noexcept { return has_value(); }

  /// Requires has_value(); throws std::bad_variant_access otherwise.
  constexpr const Value& value() const& { return std::get<0>(content_); }
  constexpr Value&& value() && { return std::get<0>(std::move(content_)); }
  constexpr const Value& operator*() const& { return value(); }
  constexpr const Value* operator->() const { return &value(); }

  /// Requires !has_value(); throws std::bad_variant_access otherwise.
  constexpr const Error& error() const { return std::get<1>(content_); }

 private:
  std::variant<Value, Error> content_;
};

}  // namespace weir
