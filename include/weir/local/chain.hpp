// Several gates as one: all let a call in, or none has.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <tuple>
#include <utility>

#include "weir/local/gate.hpp"

namespace weir {

/// What a chain answers: the passes of all its gates, or which of them refused.
///
/// Threads  one at a time, as any value
/// Memory   that of the passes; none from the heap
/// Requires the gates to outlive it
template <EntryPass... Passes>
class [[nodiscard]] Passage {
 public:
  /// Who refused, counted from 0, and when to ask again as far as it knows: the gates behind it
  /// were not asked.
  struct Refused {
    std::size_t by;
    SteadyInstant ready_at;
  };

  Passage(Passage&& other) noexcept
      : passes_(std::move(other.passes_)),
        refused_(other.refused_),
        entered_(std::exchange(other.entered_, false)) {}
  Passage& operator=(Passage&& other) noexcept {
    if (this == &other) return *this;
    passes_ = std::move(other.passes_);
    refused_ = other.refused_;
    entered_ = std::exchange(other.entered_, false);
    return *this;
  }
  ~Passage() = default;

  explicit operator bool() const noexcept { return entered_; }
  /// Means something where it was refused.
  const Refused& refused() const noexcept { return refused_; }
  std::size_t refused_by() const noexcept { return refused_.by; }
  SteadyInstant ready_at() const noexcept { return refused_.ready_at; }

  /// What one of the gates answered; nullptr where it was not asked.
  template <std::size_t Index>
  const auto* pass() const noexcept {
    const auto& asked = std::get<Index>(passes_);
    return asked ? &*asked : nullptr;
  }

  /// The call ended: each gate hears it, the innermost first.
  void end(CallEnd how) {
    backwards([&](auto& pass) { pass.end(how); });
  }
  void end(CallEnd how, SteadyInstant now) {
    backwards([&](auto& pass) { pass.end(how, now); });
  }

  /// The call never ran: each gate forgets it, the innermost first.
  void withdraw() {
    backwards([](auto& pass) { pass.withdraw(); });
  }
  void withdraw(SteadyInstant now) {
    backwards([&](auto& pass) { withdraw(pass, now); });
  }

 private:
  template <typename... Gates>
  friend class Chain;

  Passage() = default;

  /// `later` tells the time at which what was taken is given back.
  template <typename Gates, typename Later>
  void enter(Gates& gates, const Entry& entry, SteadyInstant now, const Later& later) {
    try {
      ask(gates, entry, now, std::index_sequence_for<Passes...>());
    } catch (...) {
      withdraw(later());
      throw;
    }
    if (!entered_ && refused_.by > 0) withdraw(later());
  }

  template <typename Gates, std::size_t... Index>
  void ask(Gates& gates, const Entry& entry, SteadyInstant now, std::index_sequence<Index...>) {
    entered_ = (ask<Index>(gates, entry, now) && ...);
  }

  template <std::size_t Index, typename Gates>
  bool ask(Gates& gates, const Entry& entry, SteadyInstant now) {
    auto& asked = std::get<Index>(passes_);
    asked.emplace(std::get<Index>(gates).try_enter(entry, now));
    if (*asked) return true;
    refused_ = {Index, asked->refused().ready_at};
    return false;
  }

  template <typename Do>
  void backwards(const Do& action) {
    backwards(action, std::index_sequence_for<Passes...>());
  }
  template <typename Do, std::size_t... Index>
  void backwards(const Do& action, std::index_sequence<Index...>) {
    constexpr std::size_t last = sizeof...(Passes) - 1;
    (with<last - Index>(action), ...);
  }
  template <std::size_t Index, typename Do>
  void with(const Do& action) {
    auto& asked = std::get<Index>(passes_);
    if (asked && *asked) action(*asked);
  }

  template <typename P>
  static void withdraw(P& pass, SteadyInstant now) {
    if constexpr (requires { pass.withdraw(now); }) {
      pass.withdraw(now);
    } else {
      pass.withdraw();
    }
  }

  std::tuple<std::optional<Passes>...> passes_;
  Refused refused_{sizeof...(Passes), {}};
  bool entered_ = false;
};

/// Gates one behind another, asked from left to right with one reading of the clock; what the first
/// ones gave is withdrawn, the last first, once one refuses. So after a refusal each gate is as it
/// was, as far as its pass can be withdrawn; see there.
///
///   auto guard = weir::chain(breaker, concurrency, limiter);
///   auto passage = guard.try_enter({.priority = weir::Priority::critical});
///   if (!passage) return busy(passage.ready_at());
///   passage.end(call() ? weir::CallEnd::success : weir::CallEnd::failure);
///
/// A chain is a gate too, and so can be one of a chain. Its clock is that of its first gate.
///
/// Bound    every gate's own
/// Memory   a pointer to each gate; what is handed over as a temporary (on(), keeping()) is kept
/// Threads  as the gates: safe from any thread
/// Cost     the gates', and what a refusal gives back
/// Errors   what a gate throws; what others gave is withdrawn
/// Requires the gates that were named to outlive it, and it its passages
template <typename... Gates>
class Chain {
 public:
  static_assert(sizeof...(Gates) > 0);
  using Passage = weir::Passage<PassOf<std::remove_reference_t<Gates>>...>;

  explicit Chain(Gates&&... gates) : gates_(std::forward<Gates>(gates)...) {}

  Passage try_enter(const Entry& entry = {}) {
    Passage passage;
    passage.enter(gates_, entry, clock().now(), [this] { return clock().now(); });
    return passage;
  }
  Passage try_enter(const Entry& entry, SteadyInstant now) {
    Passage passage;
    passage.enter(gates_, entry, now, [now] { return now; });
    return passage;
  }

  const auto& clock() const noexcept { return std::get<0>(gates_).clock(); }

 private:
  std::tuple<Gates...> gates_;
};

/// Holds gates that have a name by reference, and keeps temporaries.
template <typename... Gates>
Chain<Gates...> chain(Gates&&... gates) {
  return Chain<Gates...>(std::forward<Gates>(gates)...);
}

}  // namespace weir
