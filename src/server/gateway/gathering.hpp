// One ask of the rules: what it meets, and while the answers come in, what they say.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "server/gateway/gate_answer.hpp"
#include "weir/local/table.hpp"

namespace weir::server {

/// Whose state it is that was charged.
inline bool by_store(redis::Source source) {
  return source == redis::Source::store || source == redis::Source::cache ||
         source == redis::Source::lease;
}

/// What a Decider knows of one ask from its rules to its answer.
struct Gathering {
  static constexpr Span longest_lease = std::chrono::seconds(1);

  GateAnswer answer{};
  std::vector<Judged> tried{};  ///< candidates, which change no answer
  std::function<void(GateAnswer&&)> then{};
  std::vector<Judged*> jointly{};  ///< taken all or none
  std::vector<Judged*> alone{};
  Span patience{0};
  bool of_envoy = false;
  GateAsk::Verb verb = GateAsk::Verb::take;
  GateAsk::Leasing leasing = GateAsk::Leasing::never;
  bool for_lease = false;  ///< where it is refused, nobody is
  bool too_many = false;   ///< rules that would have to be taken together
  std::size_t awaited = 0;

  /// All rules that the calls meet, but those that others of them replace. States have keys of at
  /// most so many bytes.
  void gather(const GateAsk& ask, std::size_t key_bytes);

  /// Of what is taken together.
  std::vector<Claim> claims() const;

  /// Whether a state was charged for it: not where another refused what is taken all or none.
  bool took(const GateAnswer& by, const Judged& judged) const {
    return !judged.refuses && (of_envoy || by.allowed) && by_store(judged.source);
  }

  /// What is to be taken for calls that may come; `ahead` is without any as yet.
  std::vector<GateLease> ask_ahead(Gathering& ahead) const;

  /// Tells of those calls that were taken.
  void lease(const GateAnswer& ahead, std::span<const GateLease> wanted);

 private:
  void try_candidates(const Judged& judged);
  void sort_out();
  Cost leasable(std::size_t call) const;
  bool shares_a_state(const Gathering& of, std::size_t call) const;
};

}  // namespace weir::server
