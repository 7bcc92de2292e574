#include "server/asking.hpp"

namespace weir::server {

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

bool nothing_ran(const Trouble& trouble) noexcept {
  return trouble.kind == TroubleKind::unreachable || trouble.kind == TroubleKind::unavailable ||
         trouble.kind == TroubleKind::refused;
}

void write_trouble(WorkerContext& worker, const Trouble& trouble, wire::ReplyWriter& reply) {
  worker.metrics.command_errors.add(1);
  reply.error("ERR store " + std::string(redis::name(trouble.kind)) + ": " +
              (nothing_ran(trouble) ? "nothing was given back" : "it may have given back") +
              (trouble.message.empty() ? "" : "; " + trouble.message));
}

}  // namespace weir::server
