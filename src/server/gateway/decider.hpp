// What the rules in force say of a call.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "server/connection.hpp"
#include "server/gateway/gate_answer.hpp"
#include "server/gateway/rule_counts.hpp"

namespace weir::server {

struct Gathering;

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

  static constexpr std::size_t most_held = 10'000;  ///< above, who would have to wait is refused

  Decider(WorkerContext& worker, boost::asio::io_context& loop) : worker_(worker), loop_(loop) {}
  Decider(const Decider&) = delete;
  Decider& operator=(const Decider&) = delete;

  /// The rules that are in force; null while there are none.
  const std::shared_ptr<const Generation>& generation() const noexcept { return generation_; }
  void renew(std::shared_ptr<const Generation> generation, std::size_t identities);

  /// Calls `then` once, on this thread: before it returns where the states lie in this process and
  /// nothing is kept back. Requires rules of generation().
  void decide(const GateAsk& ask, Then then);

  /// Of a call that is let through because there are no rules for it.
  void note_no_domain(std::string_view domain);

  const RuleCounts& counts() const noexcept { return counts_; }

 private:
  void note_too_many(std::string_view domain);
  void run(Gathering&& gathering);
  void ask_here(Gathering& gathering);
  void ask_there(const std::shared_ptr<Gathering>& gathering);
  void conclude(Gathering& gathering);
  bool lease(Gathering& gathering);
  void keep_back(GateAnswer&& answer, Then&& then, Instant until);
  void count(const Judged& judged, GateResult result, Instant decided_at);
  void count_candidate(const Judged& judged);

  WorkerContext& worker_;
  boost::asio::io_context& loop_;
  std::shared_ptr<const Generation> generation_;
  RuleCounts counts_;
  std::size_t held_ = 0;
};

}  // namespace weir::server
