// Who holds which share of a limit: what scripts/share.lua decides, in C++.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/redis/share_settings.hpp"
#include "weir/vocabulary.hpp"

namespace weir::redis {

/// A share is counted in millionths of the limit.
inline constexpr std::int64_t whole_share = 1'000'000;

/// Hands out leases on shares of one limit, by the store's clock. Each member asks from time to
/// time and says what it holds; it gets what the division gives it, as far as the others leave
/// room. What a member may believe to hold counts until it says that it holds less, or until the
/// lease has ended: so answers may be late or lost.
///
/// A registry that remembers nothing may have lost its memory. So for the length of a lease it only
/// confirms what members say they hold: by then all of them have come, or their leases have ended.
///
/// Bound    the shares that members hold by leases never add up to more than the whole. Two things
///          exceed it: shares that members took without a lease (holds says so), and the store's
///          clock set forward by less than a lease, for as long as it was set forward
/// Memory   40 bytes a member, `most_members` of them
/// Cost     O(n) of the members, O(n log n) for a fair division
/// Clock    set back: no lease lasts longer than it was given for
struct ShareRegistry {
  static constexpr std::size_t most_members = 1000;
  static constexpr Span longest_lease = std::chrono::hours{24};

  /// What is kept of one member.
  struct Holder {
    std::int64_t member = 0;  ///< its number, of its own choosing
    std::int64_t asked = 0;   ///< the number of its last request
    std::int64_t held = 0;    ///< the most that it may believe to hold
    std::int64_t wants = 0;
    Instant ends_at{};
    bool operator==(const Holder&) const = default;
  };

  struct State {
    Instant learns_until{};
    Span lease{0};  ///< the longest that a member asked for: nothing lasts longer
    std::vector<Holder> holders{};
    bool operator==(const State&) const = default;
  };

  struct Request {
    Division division = Division::equal;
    Span lease{0};            ///< 0: the member leaves
    std::int64_t member = 0;  ///< these four are within 0 and 2^53
    std::int64_t asked = 0;   ///< above that of its request before
    std::int64_t wants = 0;
    std::int64_t holds = 0;
  };

  struct Answer {
    std::int64_t share = 0;
    std::int64_t members = 0;  ///< that are alive, with this one
    Span learns_for{0};
    Instant decided_at{};
    bool operator==(const Answer&) const = default;
  };

  enum class Refused : std::uint8_t {
    overtaken,  ///< a later request of this member was answered already
    crowded,    ///< there are `most_members`
  };

  /// `state` is absent where nothing is kept. A refusal changes nothing.
  static Expected<Answer, Refused> step(std::optional<State>& state, Instant now,
                                        const Request& request);

  /// What the holder at `own` gets of the whole when everybody has what is due to him.
  static std::int64_t due(const std::vector<Holder>& holders, std::size_t own, Division division);
};

/// The arguments of weir_1_share, of which the last four are the member's own.
std::vector<std::string> share_arguments(const ShareRegistry::Request& request);

/// The answer in integers; none where these are no such answer.
std::optional<ShareRegistry::Answer> read_share_answer(const std::vector<std::int64_t>& integers);

/// What a state is written as; and back, none where the bytes are no such state.
std::string write_registry(const ShareRegistry::State& state);
std::optional<ShareRegistry::State> read_registry(std::string_view bytes);

}  // namespace weir::redis
