// The states that one request is over, decided together.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "module/kept_state.hpp"
#include "weir/algorithm/joint.hpp"

namespace weir::module {

/// The state of a place, as the joint decision asks it.
struct Held {
  using Machine = Limit::Machine;

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

/// One state of the request.
struct Place {
  KeptState kept;
  Cost cost = 0;
  std::size_t first = 0;  ///< the claim that it stands for, the first of them
  Held held{};
  Limit::State before{};  ///< of a limit that a refusal may change

  const Limit::Machine::Config& config() const noexcept { return kept.config(); }
  Span slack() const noexcept { return kept.limit().slack; }
  bool punishes() const noexcept {
    return std::holds_alternative<Limit::Composite::Config>(config());
  }
};

/// A state's part in a request.
struct Claim {
  KeyName name;
  const redis::ToldLimit* limit;
  Cost cost;
};

/// The places of a request, and which of them each claim is.
class Places {
 public:
  static constexpr std::size_t most_claims = 16;

  /// Opens what the claims name; a state that is named twice pays once for both. A sentence with
  /// its code where one cannot be opened. Requires 1 to most_claims claims.
  static Expected<Places, std::string> open(Context* context, std::vector<Claim>&& claims,
                                            Key::Use use, Instant now);

  const Place& claimed(std::size_t claim) const { return all_[of_claim_[claim]]; }
  /// The first claim of a place.
  std::size_t claim_of(std::size_t place) const { return all_[place].first; }

  /// Decides, and keeps what that changed.
  JointDecision take(Instant now, std::optional<Span> patience);
  JointDecision peek(Instant now, std::optional<Span> patience);

 private:
  void keep(Verdict verdict, Instant now);

  std::vector<Place> all_;
  std::array<std::size_t, most_claims> of_claim_{};
};

}  // namespace weir::module
