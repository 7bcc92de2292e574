// What the rules in force say of a call.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/connection.hpp"
#include "server/gateway/generation.hpp"
#include "server/gateway/rule_counts.hpp"

namespace weir::server {

/// What is asked: calls that are let through together or not at all. A proxy's request is one call;
/// of RateLimitService each descriptor is one.
struct GateAsk {
  enum class Verb : std::uint8_t { take, peek };
  enum class Waiting : std::uint8_t { never, as_rules_say };
  enum class Leasing : std::uint8_t { never, as_rules_say };

  const gateway::RuleIndex* rules;  ///< of the generation in force
  std::span<const gateway::Call> calls;
  /// One for each call; what a rule takes for it is so many times the rule's cost.
  std::span<const Cost> hits;
  Verb verb = Verb::take;
  Waiting waiting = Waiting::never;
  Leasing leasing = Leasing::never;
};

/// A rule that a call met.
struct Judged {
  std::size_t call = 0;
  const gateway::EdgeRule* rule = nullptr;
  const gateway::Quota* quota = nullptr;
  std::string key{};
  Cost cost = 0;
  /// None for what has no limit, and where rules that were taken together in a store leave it
  /// untold.
  std::optional<Decision> decision{};
  redis::Source source = redis::Source::store;
  bool refuses = false;
};

/// Calls like one that was asked, that whoever asked may let through without asking again.
struct GateLease {
  std::size_t call;
  Cost calls;  ///< with the one that was asked
  Instant valid_until;
};

struct GateAnswer {
  std::shared_ptr<const Generation> generation;
  Instant decided_at{};
  bool allowed = true;
  std::vector<Judged> judged{};          ///< in the order of the calls; without candidates
  std::optional<std::size_t> binding{};  ///< of judged: what refuses longest, else has least left
  std::vector<GateLease> leases{};

  /// When the same would be allowed; never where it never would, none where it is.
  std::optional<Instant> retry_at() const;
};

/// Finds the rules of a call, asks the table or the store, keeps back what was deferred, counts.
/// One for each worker.
///
/// A domain's rules are taken all or none; those of an envoyproxy/ratelimit file each by itself, as
/// there.
///
/// Threads  its worker's; renew() while the worker is parked
/// Memory   answers that are kept back: most_held of them
class Decider {
 public:
  using Then = std::function<void(GateAnswer&&)>;

  static constexpr std::size_t most_held = 10'000;
  static constexpr Span longest_lease = std::chrono::seconds(1);

  Decider(WorkerContext& worker, boost::asio::io_context& loop) : worker_(worker), loop_(loop) {}
  Decider(const Decider&) = delete;
  Decider& operator=(const Decider&) = delete;

  /// The rules that are in force; null while there are none.
  const std::shared_ptr<const Generation>& generation() const noexcept { return generation_; }
  void renew(std::shared_ptr<const Generation> generation, std::size_t identities);

  /// Calls `then` once, on this thread: before it returns where the states lie in this process and
  /// nothing is kept back. Requires rules of generation().
  void decide(const GateAsk& ask, Then then);

  const RuleCounts& counts() const noexcept { return counts_; }

 private:
  struct Gathering;
  void note_too_many(std::string_view domain);
  void run(Gathering&& gathering);
  void ask_here(Gathering& gathering);
  void ask_there(const std::shared_ptr<Gathering>& gathering);
  void conclude(Gathering& gathering);
  bool lease(Gathering& gathering);
  void keep_back(GateAnswer&& answer, Then&& then, Instant until);
  void count(const Judged& judged, GateResult result);
  void count_candidate(const Judged& judged);

  WorkerContext& worker_;
  boost::asio::io_context& loop_;
  std::shared_ptr<const Generation> generation_;
  RuleCounts counts_;
  std::size_t held_ = 0;
};

}  // namespace weir::server
