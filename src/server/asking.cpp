#include "server/asking.hpp"

#include <memory>
#include <mutex>

#include "redis/grant_token.hpp"

namespace weir::server {
namespace {

/// How many of several keys the store forgot.
struct Forgotten {
  explicit Forgotten(std::size_t keys) : awaited(keys) {}

  std::mutex mutex;
  std::size_t awaited;
  redis::RemoteGift all{.given = 0};

  /// Adds a key's; true with the last.
  bool add(redis::RemoteGift&& one) {
    const std::lock_guard lock(mutex);
    if (!one.given) {
      all = std::move(one);
    } else if (all.given) {
      *all.given += *one.given;
    }
    return --awaited == 0;
  }
};

}  // namespace

using redis::Trouble;
using redis::TroubleKind;

void note_health(WorkerContext& worker, const redis::RemoteAnswer& answer) {
  StoreHealth& health = worker.service.store_health;
  if (answer.trouble.kind != TroubleKind::none) return health.failed(answer.trouble);
  if (answer.source == redis::Source::store) health.answered();
}

void note_health(WorkerContext& worker, const redis::RemoteGift& gift) {
  StoreHealth& health = worker.service.store_health;
  if (!gift.given) return health.failed(gift.trouble);
  health.answered();
}

void count(WorkerContext& worker, const Decided& decided, Cost cost) {
  const Rule& rule = *decided.subject.rule;
  worker.metrics.decided(rule, decided.decision.verdict, cost,
                         decided.source.value_or(redis::Source::store));
  worker.hot_keys.saw(rule, decided.subject.key, decided.decision.verdict);
}

void count(WorkerContext& worker, const JointlyDecided& decided) {
  const Verdict verdict = decided.decision.verdict;
  for (const auto& [subject, cost] : decided.claims) {
    worker.metrics.decided(*subject.rule, verdict, cost,
                           decided.source.value_or(redis::Source::store));
    worker.hot_keys.saw(*subject.rule, subject.key, verdict);
  }
}

std::string grant_text(WorkerContext& worker, const Rule& rule, const Grant& grant) {
  const std::uint64_t number = worker.service.next_grant.fetch_add(1, std::memory_order_relaxed);
  return print(redis::GrantToken{number, grant}, rule.limit.terms().size());
}

void forget(redis::RemoteTable& store, std::span<const Subject> subjects,
            const redis::RemoteTable::Given& given) {
  const auto forgotten = std::make_shared<Forgotten>(subjects.size());
  for (const Subject& subject : subjects) {
    store.reset(subject, [forgotten, given](redis::RemoteGift&& gift) {
      if (forgotten->add(std::move(gift))) given(std::move(forgotten->all));
    });
  }
}

bool nothing_ran(const Trouble& trouble) noexcept {
  return trouble.kind == TroubleKind::unreachable || trouble.kind == TroubleKind::unavailable ||
         trouble.kind == TroubleKind::refused;
}

std::string told(const Trouble& trouble) {
  return "store " + std::string(redis::name(trouble.kind)) + ": " +
         (nothing_ran(trouble) ? "nothing was changed" : "it may have been changed") +
         (trouble.message.empty() ? "" : "; " + trouble.message);
}

void write_trouble(WorkerContext& worker, const Trouble& trouble, wire::ReplyWriter& reply) {
  worker.metrics.command_errors.add(1);
  reply.error("ERR " + told(trouble));
}

}  // namespace weir::server
