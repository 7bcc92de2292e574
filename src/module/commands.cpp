// The WEIR commands: arguments, places, decision, reply.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "module/call.hpp"
#include "module/kept_state.hpp"
#include "redis/grant_token.hpp"
#include "weir/algorithm/joint.hpp"
#include "wire/decision_fields.hpp"
#include "wire/limiter_command.hpp"

namespace weir::module {
namespace {

using Machine = Limit::Machine;

constexpr std::size_t most_keys = 16;

/// The state of a place, as the joint decision asks it.
struct Held {
  KeptState* of = nullptr;

  Instant earliest(const Machine::Config& config, Instant now, Cost cost) const {
    return Machine::earliest(config, of->state(), now, cost);
  }
  void charge(const Machine::Config& config, Instant at, Cost cost) const {
    Machine::charge(config, of->state(), at, cost);
  }
  void refuse(const Machine::Config& config, Instant now, Span patience, Cost cost) const {
    Machine::refuse(config, of->state(), now, patience, cost);
  }
  const Limit::State& shown(const Machine::Config&, Instant) const { return of->state(); }
};

/// One key of the request under one limit.
struct Place {
  std::string_view key;
  KeptState kept;
  Cost cost = 0;
  std::size_t first = 0;  ///< the claim that it stands for, the first of them
  Held held{};
  Limit::State before{};  ///< of a limit that a refusal may change

  const Machine::Config& config() const noexcept { return kept.config(); }
  Span slack() const noexcept { return kept.limit().slack; }
  bool punishes() const noexcept {
    return std::holds_alternative<Limit::Composite::Config>(config());
  }
};

/// A key's part in a request.
struct Claim {
  std::string_view key;
  std::string_view limit;
  Cost cost;
};

/// The places of a request, and which of them each claim is.
struct Places {
  std::vector<Place> all;
  std::array<std::size_t, most_keys> of_claim{};

  const Place& claimed(std::size_t claim) const { return all[of_claim[claim]]; }
};

/// Opens what the claims name; a key that is named twice under one limit pays once for both. A
/// sentence with its code where one cannot be opened.
Expected<Places, std::string> open(const Call& call, std::span<const Claim> claims, Key::Use use) {
  Places places;
  places.all.reserve(claims.size());
  for (std::size_t at = 0; at < claims.size(); ++at) {
    const Claim& claim = claims[at];
    const auto limit = limits().find(claim.limit);
    if (!limit) return "ERR " + limit.error();
    const auto same = std::find_if(places.all.begin(), places.all.end(), [&](const Place& place) {
      return place.key == claim.key && place.kept.limit().name == (*limit)->name;
    });
    places.of_claim[at] = static_cast<std::size_t>(same - places.all.begin());
    if (same == places.all.end()) {
      auto opened = KeptState::open(call.context, {claim.key, **limit, use, call.now});
      if (!opened) return opened.error();
      places.all.push_back({.key = claim.key, .kept = std::move(opened).value(), .first = at});
    }
    places.all[places.of_claim[at]].cost += claim.cost;
  }
  for (Place& place : places.all) {
    place.held.of = &place.kept;  // where it stays: the vector is moved whole
    if (place.punishes()) place.before = place.kept.state();
  }
  return places;
}

/// Keeps what the decision changed.
void keep(Places& places, Verdict verdict, Instant now) {
  for (Place& place : places.all) {
    const bool changed =
        taken(verdict) ? place.cost > 0 : place.punishes() && place.before != place.kept.state();
    if (changed || place.kept.settled()) place.kept.keep(now);
  }
}

/// What CANCEL takes; none where nothing was taken. All grants of a store are given back all or
/// nothing (decision 0012). Made before a reply begins, since it may want memory.
std::optional<std::string> grant_text(const Place& place, const Decision& decision, Cost cost) {
  if (!taken(decision.verdict) || cost == 0) return {};
  redis::GrantToken token{.number = 1, .grant = {}};
  note_grant<Machine>(place.config(), place.kept.state(), cost, decision, token.grant);
  token.grant.turn = Turn::joint;
  return print(token, place.kept.limit().limit.terms().size());
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

/// Opens, decides and keeps; none after an error reply.
std::optional<Places> decided(Call& call, std::span<const Claim> claims,
                              std::optional<Span> patience, JointDecision& decided) {
  auto opened = open(call, claims, Key::Use::to_change);
  if (!opened) {
    call.reply.error(opened.error());
    return {};
  }
  Places places = std::move(opened).value();
  decided = decide_jointly<Machine>(places.all, {call.now, 0, patience});
  keep(places, decided.decision.verdict, call.now);
  return places;
}

struct Named {
  std::string_view key;
  std::string_view limit;
};

/// The one state that a command names; none after an error reply.
std::optional<KeptState> open_one(Call& call, Named named) {
  const auto limit = limits().find(named.limit);
  if (!limit) {
    call.reply.error("ERR " + limit.error());
    return {};
  }
  auto opened = KeptState::open(call.context, {named.key, **limit, Key::Use::to_change, call.now});
  if (opened) return std::move(opened).value();
  call.reply.error(opened.error());
  return {};
}

/// As open_one(), of a limit that hands out permits.
std::optional<KeptState> open_permits(Call& call, Named named) {
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
  JointDecision made;
  const Claim claim{read->key, read->limit, read->cost};
  const auto places = decided(call, {&claim, 1}, read->patience, made);
  if (!places) return;
  const auto grant = grant_text(places->all[0], made.decision, read->cost);
  call.reply.map(wire::decision_fields);
  wire::write_decision(made.decision, call.now, call.reply);
  call.reply.bulk("grant");
  write_grant(grant, call.reply);
}

void peek(Call& call) {
  const auto read = wire::read_peek(call.words);
  if (!accepted(call, read)) return;
  const Claim claim{read->key, read->limit, read->cost};
  auto opened = open(call, {&claim, 1}, Key::Use::to_look);
  if (!opened) return call.reply.error(opened.error());
  Places places = std::move(opened).value();
  const JointDecision made = peek_jointly<Machine>(places.all, {call.now, 0});
  call.reply.map(wire::decision_fields);
  wire::write_decision(made.decision, call.now, call.reply);
  call.reply.bulk("grant");
  call.reply.null();
}

void take_all(Call& call) {
  const auto read = wire::read_take_all(call.words, most_keys);
  if (!accepted(call, read)) return;
  std::array<Claim, most_keys> claims{};
  const std::size_t count = read->keys.size();
  for (std::size_t at = 0; at < count; ++at) {
    claims[at] = {read->keys[at], read->limits[at], read->costs[at]};
  }
  JointDecision made;
  const auto places = decided(call, std::span(claims).first(count), read->patience, made);
  if (!places) return;
  std::array<std::optional<std::string>, most_keys> grants;
  for (std::size_t at = 0; at < count; ++at) {
    grants[at] = grant_text(places->claimed(at), made.decision, claims[at].cost);
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
  call.reply.bulk(places->all[made.binding].key);
  call.reply.bulk("atomic");
  call.reply.integer(1);
}

void cancel(Call& call) {
  const auto read = wire::read_cancel(call.words);
  if (!accepted(call, read)) return;
  auto kept = open_one(call, {read->key, read->limit});
  if (!kept) return;
  const auto token = redis::read_grant_token(read->grant, kept->limit().limit.terms().size());
  if (!token || token->grant.cost > Machine::capacity(kept->config())) {
    return call.reply.error("ERR grant: expected the grant that WEIR.TAKE gave for this limit");
  }
  Grant grant = token->grant;
  grant.turn = Turn::joint;
  Cost back = 0;
  if (kept->kept()) {
    const Limit::State before = kept->state();
    back = weir::cancel<Machine>(kept->config(), kept->state(), call.now, grant);
    if (before != kept->state()) kept->keep(call.now);
  }
  call.reply.integer(back);
}

void refund(Call& call) {
  const auto read = wire::read_refund(call.words);
  if (!accepted(call, read)) return;
  if (read->id) {
    return call.reply.error("ERR ID: a store keeps no list of ids; expected REFUND without it");
  }
  auto kept = open_one(call, {read->key, read->limit});
  if (!kept) return;
  Cost back = 0;
  if (kept->kept()) {
    const Limit::State before = kept->state();
    back = Machine::refund(kept->config(), kept->state(), call.now, read->units);
    if (before != kept->state()) kept->keep(call.now);
  }
  call.reply.integer(back);
}

void reset(Call& call) {
  const auto read = wire::read_reset(call.words);
  if (!accepted(call, read)) return;
  auto kept = open_one(call, {read->key, read->limit});
  if (kept) call.reply.integer(kept->erase() ? 1 : 0);
}

void enter(Call& call) {
  const auto read = wire::read_enter(call.words);
  if (!accepted(call, read)) return;
  const auto limit = limits().find(read->limit);
  if (!limit) return call.reply.error("ERR " + limit.error());
  const auto term = (*limit)->limit.permit_term();
  if (!term) {
    return call.reply.error(
        "ERR limit: expected one with a concurrency, as in 'concurrency 10/30s'");
  }
  JointDecision made;
  const Claim claim{read->key, read->limit, read->weight};
  const auto places = decided(call, {&claim, 1}, {}, made);
  if (!places) return;
  const Place& place = places->all[0];
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
  call.reply.integer(place.kept.limit().limit.terms()[*term].period.count());
}

void leave(Call& call) {
  const auto read = wire::read_leave(call.words);
  if (!accepted(call, read)) return;
  auto kept = open_permits(call, {read->key, read->limit});
  if (!kept) return;
  const Cost back =
      kept->kept() ? Machine::leave(kept->config(), kept->state(), call.now, read->permit) : 0;
  if (back > 0) kept->keep(call.now);
  call.reply.integer(back);
}

void renew(Call& call) {
  const auto read = wire::read_renew(call.words);
  if (!accepted(call, read)) return;
  auto kept = open_permits(call, {read->key, read->limit});
  if (!kept) return;
  const Span left = kept->kept()
                        ? Machine::renew(kept->config(), kept->state(), call.now, read->permit)
                        : Span{0};
  if (left > Span{0}) kept->keep(call.now);
  call.reply.integer(left.count());
}

}  // namespace weir::module
