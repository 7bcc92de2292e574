#include "redis/share_registry.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

namespace weir::redis {
namespace {

using Holder = ShareRegistry::Holder;

constexpr std::string_view tag = "s1";
constexpr std::size_t field_bytes = 8;
constexpr std::size_t head_bytes = 2 + 2 * field_bytes;
constexpr std::size_t holder_bytes = 5 * field_bytes;

/// As much for each as for the one before, of those who want more than what is left for each.
/// Requires that they want more than there is.
std::int64_t fair_level(const std::vector<Holder>& holders) {
  std::vector<std::int64_t> wants;
  wants.reserve(holders.size());
  for (const Holder& holder : holders) wants.push_back(holder.wants);
  std::sort(wants.begin(), wants.end());
  std::int64_t left = whole_share;
  auto count = static_cast<std::int64_t>(wants.size());
  for (const std::int64_t want : wants) {
    if (want > left / count) return left / count;
    left -= want;
    --count;
  }
  return left;
}

/// Brings what a clock set back has left too far ahead to where it can be, and drops whose lease
/// has ended.
void settle(ShareRegistry::State& state, Instant now) {
  const Instant latest = now + state.lease;
  state.learns_until = std::min(state.learns_until, latest);
  for (Holder& holder : state.holders) holder.ends_at = std::min(holder.ends_at, latest);
  std::erase_if(state.holders, [now](const Holder& holder) { return holder.ends_at <= now; });
}

void append(std::string& bytes, std::int64_t field) {
  const auto bits = std::bit_cast<std::uint64_t>(static_cast<double>(field));
  for (unsigned shift = 0; shift < 64; shift += 8) {
    bytes.push_back(static_cast<char>(bits >> shift & 0xff));
  }
}

/// None where the eight bytes are no integer from 0 to 2^53.
std::optional<std::int64_t> read_field(std::string_view bytes) {
  std::uint64_t bits = 0;
  for (unsigned at = 0; at < field_bytes; ++at) {
    bits |= std::uint64_t{static_cast<unsigned char>(bytes[at])} << (8 * at);
  }
  const auto number = std::bit_cast<double>(bits);
  if (!(number >= 0 && number <= 9007199254740992.0)) return {};
  const auto field = static_cast<std::int64_t>(number);
  if (static_cast<double>(field) != number) return {};
  return field;
}

}  // namespace

std::int64_t ShareRegistry::due(const std::vector<Holder>& holders, std::size_t own,
                                Division division) {
  const auto count = static_cast<std::int64_t>(holders.size());
  const std::int64_t wants = holders[own].wants;
  const std::int64_t equal = whole_share / count;
  if (division == Division::equal) return equal;
  std::int64_t wanted = 0;
  std::int64_t spare = 0;
  std::int64_t need = 0;
  for (const Holder& holder : holders) {
    wanted += holder.wants;
    spare += std::max<std::int64_t>(equal - holder.wants, 0);
    need += std::max<std::int64_t>(holder.wants - equal, 0);
  }
  if (wanted <= whole_share) return wants + (whole_share - wanted) / count;
  if (division == Division::fair) return std::min(wants, fair_level(holders));
  if (wants <= equal) return wants;
  return equal + (wants - equal) * spare / need;
}

Expected<ShareRegistry::Answer, ShareRegistry::Refused> ShareRegistry::step(
    std::optional<State>& kept, Instant now, const Request& request) {
  State state = kept ? *kept : State{now + request.lease, request.lease, {}};
  state.lease = std::max(state.lease, request.lease);
  settle(state, now);
  std::vector<Holder>& holders = state.holders;
  auto own = std::find_if(holders.begin(), holders.end(),
                          [&](const Holder& holder) { return holder.member == request.member; });
  if (own != holders.end() && own->asked >= request.asked) return Refused::overtaken;
  const Span learns_for = std::max(state.learns_until - now, Span{0});
  if (request.lease == Span{0}) {
    if (own != holders.end()) {
      holders.erase(own);
      kept = state;
    }
    return Answer{0, static_cast<std::int64_t>(holders.size()), learns_for, now};
  }
  if (own == holders.end()) {
    if (holders.size() == most_members) return Refused::crowded;
    own = holders.insert(own, Holder{});
  }
  *own = {request.member, request.asked, request.holds, request.wants, now + request.lease};
  std::int64_t room = whole_share + own->held;
  for (const Holder& holder : holders) room -= holder.held;
  const auto at = static_cast<std::size_t>(own - holders.begin());
  const std::int64_t wished =
      learns_for > Span{0} ? request.holds : due(holders, at, request.division);
  const std::int64_t share = std::max<std::int64_t>(std::min(wished, room), 0);
  own->held = std::max(share, request.holds);
  const auto members = static_cast<std::int64_t>(holders.size());
  kept = std::move(state);
  return Answer{share, members, learns_for, now};
}

std::vector<std::string> share_arguments(const ShareRegistry::Request& request) {
  return {std::string(1, name(request.division)[0]),
          std::to_string(request.lease.count()),
          std::to_string(request.member),
          std::to_string(request.asked),
          std::to_string(request.wants),
          std::to_string(request.holds)};
}

std::optional<ShareRegistry::Answer> read_share_answer(const std::vector<std::int64_t>& integers) {
  if (integers.size() != 4) return {};
  if (integers[0] < 0 || integers[0] > whole_share || integers[1] < 0 || integers[2] < 0) return {};
  return ShareRegistry::Answer{integers[0], integers[1], Span{integers[2]},
                               Instant{Span{integers[3]}}};
}

std::string write_registry(const ShareRegistry::State& state) {
  std::string bytes(tag);
  append(bytes, state.learns_until.time_since_epoch().count());
  append(bytes, state.lease.count());
  for (const Holder& holder : state.holders) {
    for (const std::int64_t field : {holder.member, holder.asked, holder.held, holder.wants,
                                     holder.ends_at.time_since_epoch().count()}) {
      append(bytes, field);
    }
  }
  return bytes;
}

std::optional<ShareRegistry::State> read_registry(std::string_view bytes) {
  if (!bytes.starts_with(tag) || bytes.size() % holder_bytes != head_bytes % holder_bytes) {
    return {};
  }
  std::vector<std::int64_t> fields;
  for (std::size_t at = tag.size(); at < bytes.size(); at += field_bytes) {
    const auto field = read_field(bytes.substr(at, field_bytes));
    if (!field) return {};
    fields.push_back(*field);
  }
  ShareRegistry::State state{Instant{Span{fields[0]}}, Span{fields[1]}, {}};
  for (std::size_t at = 2; at < fields.size(); at += 5) {
    state.holders.push_back({fields[at], fields[at + 1], fields[at + 2], fields[at + 3],
                             Instant{Span{fields[at + 4]}}});
  }
  return state;
}

}  // namespace weir::redis
