#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "redis/error_reply.hpp"
#include "redis/recipes.hpp"
#include "redis/telling.hpp"
#include "redis/trouble.hpp"
#include "weir/local/refuse_settings.hpp"
#include "weir/redis/recipes.hpp"

namespace weir::redis {
namespace {

using std::chrono::steady_clock;

constexpr Cost most = (Cost{1} << 53) - 1;
constexpr Cost longest_log = 100'000;
/// Of who was turned away without the store: when to ask again.
constexpr Span retry_after = std::chrono::seconds{1};

void check(const char* recipe, const RecipePolicy& policy) {
  if (policy.deadline <= std::chrono::nanoseconds{0} || policy.deadline > std::chrono::hours{1}) {
    refuse_settings(recipe, {"policy.deadline", "more than 0, at most an hour"});
  }
  if (policy.without_store == WithoutStore::share) {
    refuse_settings(recipe, {"policy.without_store", "open or closed"});
  }
}

void check(const char* recipe, Span period) {
  if (period > Span{0} && period <= longest_span) return;
  refuse_settings(recipe, {"period", "more than 0, at most 35 years"});
}

/// One request under way.
struct Call {
  Store& store;
  RecipePolicy policy;
  Recipe recipe;
  RecipeWords words;
  Cost limit;
  Cost cost;
  IncrWindow::Then then;
  SteadyInstant deadline_at = steady_clock::now() + policy.deadline;
};
using CallPtr = std::shared_ptr<Call>;

/// By which of its names the script is called.
enum class Way : std::uint8_t { digest, text };

RemoteAnswer without_store(const Call& call, Trouble trouble) {
  const Instant now{};  // any: what is told is how long it is from here
  const bool open = call.policy.without_store == WithoutStore::open;
  RemoteAnswer answer{.decision = {Verdict::granted, now, call.limit, call.limit, now},
                      .decided_at = now,
                      .source = open ? Source::open : Source::closed,
                      .trouble = std::move(trouble)};
  if (call.cost > call.limit) {
    answer.decision = {Verdict::impossible, never, call.limit, open ? call.limit : 0, now};
  } else if (!open) {
    answer.decision = {Verdict::denied, now + retry_after, call.limit, 0, now + retry_after};
  }
  return answer;
}

RemoteAnswer answer_to(const Call& call, const StoreReply& reply) {
  if (Trouble trouble = trouble_of(reply)) return without_store(call, std::move(trouble));
  const auto told = read_recipe_reply(reply.integers);
  if (told) return {.decision = told->decision, .decided_at = told->decided_at};
  return without_store(call, {TroubleKind::garbled, "expected the six integers of a recipe"});
}

void ask(const CallPtr& call, Way way) {
  const RecipeText& text = text_of(call->recipe);
  std::vector<std::string_view> words{"EVALSHA", text.digest};
  if (way == Way::text) words = {"EVAL", text.script};
  words.insert(words.end(), call->words.begin(), call->words.end());
  call->store.ask({.words = words, .route = call->words.at(1), .deadline_at = call->deadline_at},
                  [call, way](StoreReply&& reply) {
                    const bool missing = reply.outcome == CallOutcome::answered &&
                                         reply.kind == StoreReply::Kind::error &&
                                         kind_of(reply.text) == ErrorKind::no_script;
                    // Nothing ran. The whole text runs, and stays there for those to come.
                    if (missing && way == Way::digest) return ask(call, Way::text);
                    tell(call->then, outcome_of(answer_to(*call, reply)));
                  });
}

void begin(Call call) {
  if (call.cost < 0) return tell(call.then, never_taken());
  ask(std::make_shared<Call>(std::move(call)), Way::digest);
}

}  // namespace

IncrWindow::IncrWindow(Store& store, const Settings& settings)
    : store_(&store), settings_(settings) {
  if (settings.limit < 1 || settings.limit > most) {
    refuse_settings("incr window", {"limit", "from 1 to 2^53 - 1"});
  }
  check("incr window", settings.period);
  check("incr window", settings.policy);
}

void IncrWindow::try_acquire(std::string_view key, Cost cost, Then then) const {
  begin({.store = *store_,
         .policy = settings_.policy,
         .recipe = Recipe::incr_window,
         .words = incr_window_words(key, {settings_.limit, settings_.period}, cost),
         .limit = settings_.limit,
         .cost = cost,
         .then = std::move(then)});
}

Outcome IncrWindow::try_acquire(std::string_view key, Cost cost) const {
  return answer_of<Outcome>([&](Then then) { try_acquire(key, cost, std::move(then)); });
}

ZsetLog::ZsetLog(Store& store, const Settings& settings) : store_(&store), settings_(settings) {
  if (settings.limit < 1 || settings.limit > longest_log) {
    refuse_settings("zset log", {"limit", "from 1 to 100000"});
  }
  check("zset log", settings.period);
  check("zset log", settings.policy);
}

void ZsetLog::try_acquire(std::string_view key, Cost cost, Then then) const {
  begin({.store = *store_,
         .policy = settings_.policy,
         .recipe = Recipe::zset_log,
         .words = zset_log_words(key, {settings_.limit, settings_.period}, settings_.scores, cost),
         .limit = settings_.limit,
         .cost = cost,
         .then = std::move(then)});
}

Outcome ZsetLog::try_acquire(std::string_view key, Cost cost) const {
  return answer_of<Outcome>([&](Then then) { try_acquire(key, cost, std::move(then)); });
}

SpringBucket::SpringBucket(Store& store, const Settings& settings)
    : store_(&store), settings_(settings) {
  if (!(settings.replenish_rate > 0 && settings.replenish_rate <= static_cast<double>(most))) {
    refuse_settings("spring bucket", {"replenish_rate", "more than 0, at most 2^53 - 1"});
  }
  if (settings.burst_capacity < 0 || settings.burst_capacity > most) {
    refuse_settings("spring bucket", {"burst_capacity", "from 0 to 2^53 - 1"});
  }
  check("spring bucket", settings.policy);
}

void SpringBucket::try_acquire(std::string_view id, Cost requested_tokens, Then then) const {
  begin({.store = *store_,
         .policy = settings_.policy,
         .recipe = Recipe::spring,
         .words =
             spring_words({.route = settings_.route, .id = id},
                          {settings_.replenish_rate, settings_.burst_capacity}, requested_tokens),
         .limit = settings_.burst_capacity,
         .cost = requested_tokens,
         .then = std::move(then)});
}

Outcome SpringBucket::try_acquire(std::string_view id, Cost requested_tokens) const {
  return answer_of<Outcome>([&](Then then) { try_acquire(id, requested_tokens, std::move(then)); });
}

}  // namespace weir::redis
