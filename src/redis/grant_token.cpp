#include "redis/grant_token.hpp"

#include "wire/integer.hpp"

namespace weir::redis {
namespace {

constexpr std::int64_t farthest = std::int64_t{1} << 53;

/// The next number of a dotted list, within what an instant may be.
std::optional<std::int64_t> next(std::string_view& text) {
  const std::size_t dot = text.find('.');
  const auto number = wire::strict_integer(text.substr(0, dot));
  text = dot == std::string_view::npos ? std::string_view{} : text.substr(dot + 1);
  if (!number || *number > farthest || *number < -farthest) return {};
  return number;
}

}  // namespace

std::string print(const GrantToken& token, std::size_t terms) {
  std::string text = std::to_string(token.number) + "." + std::to_string(token.grant.cost) + "." +
                     std::to_string(token.grant.acts_at.time_since_epoch().count()) +
                     (token.grant.turn == Turn::joint ? ".1" : ".0");
  for (std::size_t term = 0; term < terms; ++term) {
    const FineInstant& mark = token.grant.marks[term];
    if (mark.whole == Instant::min()) {  // this term keeps none
      text += ".0.0";
      continue;
    }
    text += "." + std::to_string(mark.whole.time_since_epoch().count()) + "." +
            std::to_string(mark.rest);
  }
  return text;
}

std::optional<GrantToken> read_grant_token(std::string_view text, std::size_t terms) {
  const auto number = next(text);
  const auto cost = next(text);
  const auto acts_at = next(text);
  const auto turn = next(text);
  if (!number || !cost || !acts_at || !turn || *number < 1 || *cost < 0) return {};
  if (*turn != 0 && *turn != 1) return {};
  GrantToken token{static_cast<std::uint64_t>(*number),
                   {*cost, Instant{Span{*acts_at}}, static_cast<Turn>(*turn), {}}};
  for (std::size_t term = 0; term < terms; ++term) {
    const auto whole = next(text);
    const auto rest = next(text);
    if (!whole || !rest || *rest < 0) return {};
    const bool unset = *whole == 0 && *rest == 0;
    token.grant.marks[term] = unset ? FineInstant{} : FineInstant{Instant{Span{*whole}}, *rest};
  }
  if (!text.empty()) return {};
  return token;
}

}  // namespace weir::redis
