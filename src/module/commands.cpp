// The WEIR commands: arguments, places, decision, reply.
#include <array>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "module/call.hpp"
#include "module/places.hpp"
#include "redis/grant_token.hpp"
#include "redis/stored_key.hpp"
#include "wire/decision_fields.hpp"
#include "wire/limiter_command.hpp"

namespace weir::module {
namespace {

using Machine = Limit::Machine;

/// A key and a limit, as a command names them.
struct Named {
  std::string_view key;
  std::string_view limit;
};

/// What those are.
struct Found {
  const KnownLimit* limit;
  KeyName name;  ///< of the state
};

/// Whether the name that a state has lies in the slot of the key that the command declares.
bool same_slot(std::string_view key) noexcept {
  return !key.empty() && key.find_first_of("{}%") == std::string_view::npos;
}

/// None after an error reply.
std::optional<Found> find(const Call& call, Named named) {
  const auto limit = limits().find(named.limit);
  if (!limit) {
    call.reply.error("ERR " + limit.error());
    return {};
  }
  if (!same_slot(named.key) && (api.GetContextFlags(call.context) & flag_cluster) != 0) {
    call.reply.error("ERR key: in a cluster expected one without '{', '}' and '%', not empty");
    return {};
  }
  return Found{*limit, KeyName(call.context, redis::stored_key({named.key, (*limit)->name}))};
}

/// What CANCEL takes; none where nothing was taken. All grants of a store are given back all or
/// nothing (decision 0012). Made before a reply begins, since it may want memory.
std::optional<std::string> grant_text(const Place& place, const Decision& decision, Cost cost) {
  if (!taken(decision.verdict) || cost == 0) return {};
  redis::GrantToken token{.number = 1, .grant = {}};
  note_grant<Machine>(place.config(), place.kept.state(), cost, decision, token.grant);
  token.grant.turn = Turn::joint;
  return print(token, redis::term_count(place.config()));
}

void write_grant(const std::optional<std::string>& grant, const Reply& reply) {
  if (grant) {
    reply.bulk(*grant);
  } else {
    reply.null();
  }
}

template <typename Command>
bool accepted(const Call& call, const Expected<Command, wire::CommandError>& read) {
  if (!read) call.reply.error("ERR " + read.error().message);
  return read.has_value();
}

/// None after an error reply.
std::optional<Places> open(const Call& call, std::vector<Claim>&& claims,
                           Key::Use use = Key::Use::to_change) {
  auto opened = Places::open(call.context, std::move(claims), use, call.now);
  if (opened) return std::move(opened).value();
  call.reply.error(opened.error());
  return {};
}

std::vector<Claim> one(Found&& found, Cost cost) {
  std::vector<Claim> claims;
  claims.push_back({std::move(found.name), &found.limit->kept, cost});
  return claims;
}

/// The one state that a command names.
struct State {
  const KnownLimit* limit;
  KeptState kept;
};

/// None after an error reply.
std::optional<State> open_one(const Call& call, Named named) {
  auto found = find(call, named);
  if (!found) return {};
  const KnownLimit* const limit = found->limit;
  auto opened = KeptState::open(
      call.context, {std::move(found->name), limit->kept, Key::Use::to_change, call.now});
  if (opened) return State{limit, std::move(opened).value()};
  call.reply.error(opened.error());
  return {};
}

/// What a refund was named by, so that it counts once: a key of its own beside the state. No text
/// of a limit ends like its name.
class SpentId {
 public:
  static constexpr Span kept_for = std::chrono::hours{24};

  SpentId(Context* context, std::string_view name)
      : name_(context, name), key_(context, name_.get(), Key::Use::to_change) {}

  /// Why it cannot be told whether it is spent, or noted that it is.
  const char* wrong(Context* context) const {
    const bool other =
        key_.holds() == Key::Holds::something_else || (is_spent() && key_.bytes() != mark);
    if (other) return "WRONGTYPE ID: its key holds something else; expected what REFUND keeps";
    if (!is_spent() && (api.GetContextFlags(context) & flag_out_of_memory) != 0) {
      return "OOM ID: the server has no memory to remember it; expected REFUND without it";
    }
    return nullptr;
  }
  bool is_spent() const noexcept { return key_.holds() == Key::Holds::bytes; }
  void spend(Instant now) { key_.write(mark, now + kept_for); }

 private:
  static constexpr std::string_view mark = "i1";

  KeyName name_;
  Key key_;
};

/// As open_one(), of a limit that hands out permits.
std::optional<State> open_permits(const Call& call, Named named) {
  const auto limit = limits().find(named.limit);
  if (limit && !(*limit)->limit.permit_term()) {
    call.reply.error("ERR limit: expected one with a concurrency, as in 'concurrency 10/30s'");
    return {};
  }
  return open_one(call, named);
}

}  // namespace

void take(Call& call) {
  const auto read = wire::read_take(call.words);
  if (!accepted(call, read)) return;
  auto found = find(call, {read->key, read->limit});
  if (!found) return;
  auto places = open(call, one(*std::move(found), read->cost));
  if (!places) return;
  const JointDecision made = places->take(call.now, read->patience);
  const auto grant = grant_text(places->claimed(0), made.decision, read->cost);
  call.reply.map(wire::decision_fields);
  wire::write_decision(made.decision, call.now, call.reply);
  call.reply.bulk("grant");
  write_grant(grant, call.reply);
}

void peek(Call& call) {
  const auto read = wire::read_peek(call.words);
  if (!accepted(call, read)) return;
  auto found = find(call, {read->key, read->limit});
  if (!found) return;
  auto places = open(call, one(*std::move(found), read->cost), Key::Use::to_look);
  if (!places) return;
  const JointDecision made = places->peek(call.now, {});
  call.reply.map(wire::decision_fields);
  wire::write_decision(made.decision, call.now, call.reply);
  call.reply.bulk("grant");
  call.reply.null();
}

void take_all(Call& call) {
  const auto read = wire::read_take_all(call.words, Places::most_claims);
  if (!accepted(call, read)) return;
  const std::size_t count = read->keys.size();
  std::vector<Claim> claims;
  claims.reserve(count);
  for (std::size_t at = 0; at < count; ++at) {
    auto found = find(call, {read->keys[at], read->limits[at]});
    if (!found) return;
    claims.push_back({std::move(found->name), &found->limit->kept, read->costs[at]});
  }
  auto places = open(call, std::move(claims));
  if (!places) return;
  const JointDecision made = places->take(call.now, read->patience);
  std::array<std::optional<std::string>, Places::most_claims> grants;
  for (std::size_t at = 0; at < count; ++at) {
    grants[at] = grant_text(places->claimed(at), made.decision, read->costs[at]);
  }
  call.reply.map(wire::decision_fields + 2);
  wire::write_decision(made.decision, call.now, call.reply);
  call.reply.bulk("grant");
  if (taken(made.decision.verdict)) {
    call.reply.array(count);
    for (std::size_t at = 0; at < count; ++at) {
      write_grant(grants[at], call.reply);
    }
  } else {
    call.reply.null();
  }
  call.reply.bulk("key");
  call.reply.bulk(read->keys[places->claim_of(made.binding)]);
  call.reply.bulk("atomic");
  call.reply.integer(1);
}

void cancel(Call& call) {
  const auto read = wire::read_cancel(call.words);
  if (!accepted(call, read)) return;
  auto opened = open_one(call, {read->key, read->limit});
  if (!opened) return;
  KeptState& kept = opened->kept;
  const auto token = redis::read_grant_token(read->grant, redis::term_count(kept.config()));
  if (!token || token->grant.cost > Machine::capacity(kept.config())) {
    return call.reply.error("ERR grant: expected the grant that WEIR.TAKE gave for this limit");
  }
  Grant grant = token->grant;
  grant.turn = Turn::joint;
  Cost back = 0;
  if (kept.kept()) {
    const Limit::State before = kept.state();
    back = weir::cancel<Machine>(kept.config(), kept.state(), call.now, grant);
    if (before != kept.state()) kept.keep(call.now);
  }
  call.reply.integer(back);
}

void refund(Call& call) {
  const auto read = wire::read_refund(call.words);
  if (!accepted(call, read)) return;
  auto opened = open_one(call, {read->key, read->limit});
  if (!opened) return;
  KeptState& kept = opened->kept;
  std::optional<SpentId> id;
  if (read->id) {
    id.emplace(call.context, std::string(kept.name()) + " refund " + std::string(*read->id));
    if (const char* const wrong = id->wrong(call.context)) return call.reply.error(wrong);
    if (id->is_spent()) return call.reply.integer(0);
  }
  Cost back = 0;
  if (kept.kept()) {
    const Limit::State before = kept.state();
    back = Machine::refund(kept.config(), kept.state(), call.now, read->units);
    if (before != kept.state()) kept.keep(call.now);
  }
  if (id) id->spend(call.now);
  call.reply.integer(back);
}

void reset(Call& call) {
  const auto read = wire::read_reset(call.words);
  if (!accepted(call, read)) return;
  auto opened = open_one(call, {read->key, read->limit});
  if (opened) call.reply.integer(opened->kept.erase() ? 1 : 0);
}

void enter(Call& call) {
  const auto read = wire::read_enter(call.words);
  if (!accepted(call, read)) return;
  auto found = find(call, {read->key, read->limit});
  if (!found) return;
  const Limit& limit = found->limit->limit;
  const auto term = limit.permit_term();
  if (!term) {
    return call.reply.error(
        "ERR limit: expected one with a concurrency, as in 'concurrency 10/30s'");
  }
  auto places = open(call, one(*std::move(found), read->weight));
  if (!places) return;
  const JointDecision made = places->take(call.now, {});
  const Place& place = places->claimed(0);
  call.reply.map(wire::decision_fields + 1);
  wire::write_decision(made.decision, call.now, call.reply);
  call.reply.bulk("permit");
  if (taken(made.decision.verdict) && read->weight > 0) {
    Grant grant;
    note_grant<Machine>(place.config(), place.kept.state(), read->weight, made.decision, grant);
    const PermitId permit = Concurrency::permit_of(grant.marks.at(*term));
    call.reply.bulk(std::to_string(static_cast<std::int64_t>(permit)));
  } else {
    call.reply.null();
  }
  call.reply.bulk("lease_us");
  call.reply.integer(limit.terms()[*term].period.count());
}

void leave(Call& call) {
  const auto read = wire::read_leave(call.words);
  if (!accepted(call, read)) return;
  auto opened = open_permits(call, {read->key, read->limit});
  if (!opened) return;
  KeptState& kept = opened->kept;
  const Cost back =
      kept.kept() ? Machine::leave(kept.config(), kept.state(), call.now, read->permit) : 0;
  if (back > 0) kept.keep(call.now);
  call.reply.integer(back);
}

void renew(Call& call) {
  const auto read = wire::read_renew(call.words);
  if (!accepted(call, read)) return;
  auto opened = open_permits(call, {read->key, read->limit});
  if (!opened) return;
  KeptState& kept = opened->kept;
  const Span left =
      kept.kept() ? Machine::renew(kept.config(), kept.state(), call.now, read->permit) : Span{0};
  if (left > Span{0}) kept.keep(call.now);
  call.reply.integer(left.count());
}

}  // namespace weir::module
