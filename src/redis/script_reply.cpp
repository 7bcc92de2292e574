#include "redis/script_reply.hpp"

#include <algorithm>

namespace weir::redis {
namespace {

constexpr std::int64_t most_exact = std::int64_t{1} << 53;    ///< beyond it doubles skip integers
constexpr std::int64_t last_instant = std::int64_t{1} << 52;  ///< vocabulary.hpp
constexpr std::int64_t never_seen = -most_exact;              ///< scripts/names.lua
constexpr std::size_t fields = 7;

Trouble garbled(const char* what) {
  return {TroubleKind::garbled, std::string("no reply of weir's scripts: ") + what};
}

bool is_instant(std::int64_t ticks) { return ticks >= -last_instant && ticks <= last_instant; }
bool is_cost(std::int64_t units) { return units >= 0 && units <= most_exact; }
Instant at(std::int64_t ticks) { return Instant{Span{ticks}}; }

const char* fault_in(std::span<const std::int64_t> told, std::span<const ToldKey> keys) {
  std::size_t marks = 0;
  for (const ToldKey& key : keys) marks += 2 * key.terms;
  if (told.size() != fields + marks) return "another number of integers";
  if (told[0] < 0 || told[0] > 3) return "an unknown verdict";
  const bool impossible = static_cast<Verdict>(told[0]) == Verdict::impossible;
  if (!is_instant(told[1]) || !is_instant(told[2]) || !is_instant(told[5])) return "no instant";
  if (!impossible && told[2] < told[1]) return "it is ready before it was asked";
  if (!is_cost(told[3]) || !is_cost(told[4])) return "no number of units";
  if (told[6] < 0 || static_cast<std::size_t>(told[6]) >= keys.size()) return "no key of these";
  const auto is_exact = [](std::int64_t mark) { return mark >= -most_exact && mark <= most_exact; };
  return std::ranges::all_of(told.subspan(fields), is_exact) ? nullptr : "a mark out of range";
}

}  // namespace

Expected<Told, Trouble> read_told(const StoreReply& reply, std::span<const ToldKey> keys) {
  if (Trouble trouble = trouble_of(reply)) return trouble;
  if (reply.kind != StoreReply::Kind::integers) return garbled("no integers");
  const std::span<const std::int64_t> told = reply.integers;
  if (const char* fault = fault_in(told, keys)) return garbled(fault);
  const auto verdict = static_cast<Verdict>(told[0]);
  const Instant ready_at = verdict == Verdict::impossible ? never : at(told[2]);
  Told answer{.decision = {verdict, ready_at, told[3], told[4], at(told[5])},
              .decided_at = at(told[1]),
              .binding = static_cast<std::size_t>(told[6])};
  if (!taken(verdict)) return answer;
  auto mark = told.begin() + fields;
  for (const ToldKey& key : keys) {
    Grant& grant = answer.grants.emplace_back();
    grant = {.cost = key.cost, .acts_at = ready_at, .turn = Turn::joint};
    for (std::size_t term = 0; term < key.terms; ++term, mark += 2) {
      grant.marks.at(term) = {mark[0] == never_seen ? Instant::min() : at(mark[0]), mark[1]};
    }
  }
  return answer;
}

Expected<std::int64_t, Trouble> read_number(const StoreReply& reply) {
  if (Trouble trouble = trouble_of(reply)) return trouble;
  if (reply.kind != StoreReply::Kind::integers || reply.integers.size() != 1 ||
      !is_cost(reply.integers[0])) {
    return garbled("expected one number");
  }
  return reply.integers[0];
}

std::vector<std::int64_t> told_marks(const Grant& grant, std::size_t terms) {
  std::vector<std::int64_t> marks;
  for (std::size_t term = 0; term < terms; ++term) {
    const FineInstant& mark = grant.marks.at(term);
    const bool seen = mark.whole != Instant::min();
    marks.push_back(seen ? mark.whole.time_since_epoch().count() : never_seen);
    marks.push_back(mark.rest);
  }
  return marks;
}

}  // namespace weir::redis
