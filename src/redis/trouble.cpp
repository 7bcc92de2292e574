#include "redis/trouble.hpp"

#include "redis/error_reply.hpp"

namespace weir::redis {
namespace {

TroubleKind kind_of_answer(const StoreReply& reply) {
  if (reply.kind != StoreReply::Kind::error) return TroubleKind::none;
  switch (remedy_for(redis::kind_of(reply.text))) {
    case Remedy::redirect:
    case Remedy::find_master:
    case Remedy::reload:
    case Remedy::unavailable: return TroubleKind::unavailable;
    case Remedy::operator_acts:
    case Remedy::caller_errs: break;
  }
  return TroubleKind::refused;
}

}  // namespace

const char* name(TroubleKind kind) noexcept {
  constexpr const char* names[] = {"none",        "timed_out", "unreachable",
                                   "unavailable", "refused",   "garbled"};
  return names[static_cast<std::uint8_t>(kind)];
}

Trouble trouble_of(const StoreReply& reply) {
  switch (reply.outcome) {
    case CallOutcome::answered: {
      const TroubleKind kind = kind_of_answer(reply);
      return {kind, kind == TroubleKind::none ? std::string() : reply.text};
    }
    case CallOutcome::not_sent: return {TroubleKind::unreachable, reply.text};
    case CallOutcome::timed_out:
    case CallOutcome::indeterminate: break;
  }
  return {TroubleKind::timed_out, reply.text};
}

}  // namespace weir::redis
