#include "redis/watched_store.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "redis/trouble.hpp"
#include "weir/local/keyed_hash.hpp"

namespace weir::redis {
namespace {

StoreReply not_sent(const char* why) {
  return {CallOutcome::not_sent, StoreReply::Kind::none, {}, why};
}

}  // namespace

WatchedStore::WatchedStore(Store& store, const Policy& policy, Now now)
    : store_(store), now_(now), caller_(store, now), breaker_(policy, HashKey::random().first) {}

void WatchedStore::call(ScriptCaller::Call&& call, Store::Then&& then) {
  if (now_() >= call.deadline_at) return then(not_sent("no time was left to ask"));
  guarded(std::move(then),
          [&](Store::Then&& watched) { caller_.call(std::move(call), std::move(watched)); });
}

void WatchedStore::erase(const std::string& key, SteadyInstant deadline_at, Store::Then&& then) {
  guarded(std::move(then), [&](Store::Then&& watched) {
    const std::array<std::string_view, 2> words{"DEL", key};
    store_.ask({.words = words, .route = key, .deadline_at = deadline_at}, std::move(watched));
  });
}

template <typename Send>
void WatchedStore::guarded(Store::Then&& then, Send&& send) {
  const SteadyInstant now = now_();
  const Breaker::Ticket ticket = breaker_.enter(now);
  if (ticket == 0) {
    return then(not_sent("calls to the store have failed, and it is left alone for a while"));
  }
  send([self = shared_from_this(), ticket, now, then = std::move(then)](StoreReply&& reply) {
    const SteadyInstant ended_at = self->now_();
    self->breaker_.observe(ticket, {.ended_at = ended_at,
                                    .latency = std::max(ended_at - now, {}),
                                    .end = end_of(trouble_of(reply).kind)});
    then(std::move(reply));
  });
}

}  // namespace weir::redis
