// The functions of the scripts' library as commands: numkeys, the stored keys, and what the scripts
// take behind them; answered with their integers. So a client asks either with the same words.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "module/call.hpp"
#include "module/places.hpp"
#include "wire/integer.hpp"

namespace weir::module::function {
namespace {

using Machine = Limit::Machine;

constexpr std::int64_t most_exact = std::int64_t{1} << 53;  ///< beyond it a script's doubles skip
constexpr std::int64_t never_seen = -most_exact;            ///< scripts/names.lua
constexpr std::size_t fields = 7;                           ///< in front of the marks

std::optional<std::int64_t> whole_number(std::string_view word) {
  const auto number = wire::strict_integer(word);
  if (!number || *number < 0 || *number > most_exact) return {};
  return number;
}

/// Of an instant or a mark.
std::optional<std::int64_t> exact_number(std::string_view word) {
  const auto number = wire::strict_integer(word);
  if (!number || *number < -most_exact || *number > most_exact) return {};
  return number;
}

struct Arguments {
  std::span<Text* const> keys;
  std::span<const std::string_view> rest;
};

/// None after an error reply.
std::optional<Arguments> read(const Call& call) {
  const auto count = wire::strict_integer(call.words.empty() ? "" : call.words[0]);
  const auto most = static_cast<std::int64_t>(Places::most_claims);
  if (!count || *count < 1 || *count > most ||
      call.words.size() < static_cast<std::size_t>(*count) + 1) {
    call.reply.error("ERR weir: expected a number of keys, 1 to 16, and as many keys behind it");
    return {};
  }
  const auto keys = static_cast<std::size_t>(*count);
  return Arguments{call.texts.subspan(2, keys), call.words.subspan(1 + keys)};
}

/// Null after an error reply.
const redis::ToldLimit* find(const Call& call, std::string_view text) {
  const redis::ToldLimit* const limit = limits().find_told(text);
  if (!limit) {
    call.reply.error("ERR weir: '" + std::string(text.substr(0, 64)) +
                     "' is no limit that this module knows; expected what `weir lua config LIMIT` "
                     "prints");
  }
  return limit;
}

/// For n keys n limits, n costs and a patience; none after an error reply.
std::optional<std::vector<Claim>> read_claims(const Call& call, const Arguments& given) {
  const std::size_t count = given.keys.size();
  if (given.rest.size() != 2 * count + 1) {
    call.reply.error("ERR weir: expected for n keys n limits, n costs and a patience");
    return {};
  }
  std::vector<Claim> claims;
  claims.reserve(count);
  for (std::size_t at = 0; at < count; ++at) {
    const redis::ToldLimit* const limit = find(call, given.rest[at]);
    if (!limit) return {};
    const auto cost = whole_number(given.rest[count + at]);
    if (!cost) {
      call.reply.error("ERR weir: expected a whole number as cost, 0 or more");
      return {};
    }
    claims.push_back({KeyName(given.keys[at]), limit, *cost});
  }
  return claims;
}

/// The marks of a state, as cancel wants them back.
void write_marks(const Place& place, const Reply& reply) {
  std::array<FineInstant, most_terms> marks{};
  const FineInstant* const end = Machine::mark(place.config(), place.kept.state(), marks.data());
  for (const FineInstant* mark = marks.data(); mark != end; ++mark) {
    const bool seen = mark->whole != Instant::min();
    reply.integer(seen ? mark->whole.time_since_epoch().count() : never_seen);
    reply.integer(mark->rest);
  }
}

void write(const Places& places, const JointDecision& made, std::size_t claims, const Call& call) {
  const Decision& decision = made.decision;
  std::size_t terms = 0;
  for (std::size_t at = 0; at < claims; ++at) {
    terms += redis::term_count(places.claimed(at).config());
  }
  const auto ticks = [](Instant instant) { return instant.time_since_epoch().count(); };
  const bool ever = decision.verdict != Verdict::impossible;
  const Reply& reply = call.reply;
  reply.array(fields + 2 * terms);
  reply.integer(static_cast<std::int64_t>(decision.verdict));
  reply.integer(ticks(call.now));
  reply.integer(ever ? ticks(decision.ready_at) : -1);
  reply.integer(decision.limit);
  reply.integer(decision.remaining);
  reply.integer(ticks(decision.reset_at));
  reply.integer(static_cast<std::int64_t>(places.claim_of(made.binding)));
  for (std::size_t at = 0; at < claims; ++at) write_marks(places.claimed(at), reply);
}

void decide(Call& call, Key::Use use) {
  const auto given = read(call);
  if (!given) return;
  auto claims = read_claims(call, *given);
  if (!claims) return;
  const std::string_view patience_word = given->rest.back();
  std::optional<Span> patience;
  if (patience_word != "-1") {
    const auto ticks = whole_number(patience_word);
    if (!ticks) {
      return call.reply.error(
          "ERR weir: expected a patience in microseconds, or -1 for the limit's own");
    }
    patience = std::min(Span{*ticks}, longest_span);
  }
  auto opened = Places::open(call.context, *std::move(claims), use, call.now);
  if (!opened) return call.reply.error(opened.error());
  Places places = std::move(opened).value();
  const JointDecision made = use == Key::Use::to_change ? places.take(call.now, patience)
                                                        : places.peek(call.now, patience);
  write(places, made, given->keys.size(), call);
}

/// What stands behind the limit of a verb over one key.
struct Behind {
  enum class Numbers : std::uint8_t { one, of_a_grant } numbers;
  const char* expected;  ///< in words
};

struct Asked {
  std::array<std::int64_t, 2 + 2 * most_terms> numbers{};
  KeptState kept;
};

/// None after an error reply.
std::optional<Asked> open_one(const Call& call, const Behind& behind) {
  const auto given = read(call);
  if (!given) return {};
  const redis::ToldLimit* const limit = find(call, given->rest.empty() ? "" : given->rest[0]);
  if (!limit) return {};
  const bool one = behind.numbers == Behind::Numbers::one;
  const std::size_t count = one ? 1 : 2 + 2 * redis::term_count(limit->config);
  bool well_read = given->keys.size() == 1 && given->rest.size() == count + 1;
  std::array<std::int64_t, 2 + 2 * most_terms> numbers{};
  for (std::size_t at = 0; well_read && at < count; ++at) {
    const std::string_view word = given->rest[at + 1];
    const auto number = at == 0 ? whole_number(word) : exact_number(word);
    well_read = number.has_value();
    numbers.at(at) = number.value_or(0);
  }
  if (!well_read) {
    call.reply.error(std::string("ERR weir: expected one key, its limit") + behind.expected);
    return {};
  }
  auto opened = KeptState::open(call.context,
                                {KeyName(given->keys[0]), *limit, Key::Use::to_change, call.now});
  if (opened) return Asked{numbers, std::move(opened).value()};
  call.reply.error(opened.error());
  return {};
}

/// Has the verb change the state, keeps what it became, and tells what the verb did.
template <typename Change>
void change(const Call& call, KeptState& kept, Change&& verb) {
  std::int64_t told = 0;
  if (kept.kept()) {
    const Limit::State before = kept.state();
    told = verb(kept.config(), kept.state());
    if (before != kept.state()) kept.keep(call.now);
  }
  call.reply.integer(told);
}

constexpr Behind units{Behind::Numbers::one, " and units"};
constexpr Behind permit{Behind::Numbers::one, " and a permit"};
constexpr Behind grant_words{Behind::Numbers::of_a_grant, ", cost, ready_at and marks"};

/// The grant that cancel's numbers tell, of a limit of so many terms.
Grant read_grant(const Asked& asked, std::size_t terms) {
  Grant grant{
      .cost = asked.numbers[0], .acts_at = Instant{Span{asked.numbers[1]}}, .turn = Turn::joint};
  for (std::size_t term = 0; term < terms; ++term) {
    const std::int64_t whole = asked.numbers.at(2 + 2 * term);
    if (whole == never_seen) continue;
    grant.marks.at(term) = {Instant{Span{whole}}, asked.numbers.at(3 + 2 * term)};
  }
  return grant;
}

}  // namespace

void take(Call& call) { decide(call, Key::Use::to_change); }

void peek(Call& call) { decide(call, Key::Use::to_look); }

void cancel(Call& call) {
  auto asked = open_one(call, grant_words);
  if (!asked) return;
  const Grant grant = read_grant(*asked, redis::term_count(asked->kept.config()));
  change(call, asked->kept, [&](const Machine::Config& config, Limit::State& state) -> Cost {
    if (grant.cost > Machine::capacity(config)) return 0;
    return weir::cancel<Machine>(config, state, call.now, grant);
  });
}

void refund(Call& call) {
  auto asked = open_one(call, units);
  if (!asked) return;
  change(call, asked->kept, [&](const Machine::Config& config, Limit::State& state) {
    return Machine::refund(config, state, call.now, asked->numbers[0]);
  });
}

void release(Call& call) {
  auto asked = open_one(call, permit);
  if (!asked) return;
  change(call, asked->kept, [&](const Machine::Config& config, Limit::State& state) {
    return Machine::leave(config, state, call.now, PermitId{asked->numbers[0]});
  });
}

void renew(Call& call) {
  auto asked = open_one(call, permit);
  if (!asked) return;
  change(call, asked->kept, [&](const Machine::Config& config, Limit::State& state) {
    return Machine::renew(config, state, call.now, PermitId{asked->numbers[0]}).count();
  });
}

}  // namespace weir::module::function
