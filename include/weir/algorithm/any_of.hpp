// One of several algorithms, chosen at run time.
#pragma once

#include <variant>

#include "weir/algorithm/inherit.hpp"

namespace weir {

/// One of the algorithms named, chosen when the limit is configured; every promise is that of the
/// one chosen. A state that another algorithm left counts as never seen.
template <Algorithm... Ms>
struct AnyOf {
  using Config = std::variant<typename Ms::Config...>;
  using State = std::variant<typename Ms::State...>;

  static Cost capacity(const Config& config) noexcept {
    return visit(config,
                 []<typename M>(Tag<M>, const auto& chosen) { return M::capacity(chosen); });
  }
  static std::optional<Span> own_wait(const Config& config, Cost cost) noexcept {
    return visit(config,
                 [&]<typename M>(Tag<M>, const auto& chosen) { return M::own_wait(chosen, cost); });
  }
  static Span least_wait(const Config& config, Cost cost) noexcept requires(Delaying<Ms> || ...) {
    return visit(config, [&]<typename M>(Tag<M>, const auto& chosen) {
      return weir::least_wait<M>(chosen, cost);
    });
  }
  static Decision step(const Config& config, State& state, const Request& request) {
    return visit(config, [&]<typename M>(Tag<M>, const auto& chosen) {
      if (auto* kept = std::get_if<typename M::State>(&state)) {
        return weir::step<M>(chosen, *kept, request);
      }
      typename M::State first;
      const Decision decision = weir::step<M>(chosen, first, request);
      if (first != typename M::State{}) state = std::move(first);  // a refusal leaves all as it was
      return decision;
    });
  }
  static Decision peek(const Config& config, const State& state, const Request& request) noexcept {
    return visit(config, [&]<typename M>(Tag<M>, const auto& chosen) {
      return weir::peek<M>(chosen, kept<M>(state), request);
    });
  }
  static Instant earliest(const Config& config, const State& state, Instant now,
                          Cost cost) noexcept {
    return visit(config, [&]<typename M>(Tag<M>, const auto& chosen) {
      return M::earliest(chosen, kept<M>(state), now, cost);
    });
  }
  static void refuse(const Config& config, State& state, Instant now, Span patience, Cost cost) {
    visit(config, [&]<typename M>(Tag<M>, const auto& chosen) {
      if constexpr (Punishing<M>) M::refuse(chosen, own<M>(state), now, patience, cost);
    });
  }
  static void charge(const Config& config, State& state, Instant at, Cost cost) {
    visit(config, [&]<typename M>(Tag<M>, const auto& chosen) {
      M::charge(chosen, own<M>(state), at, cost);
    });
  }
  static Room room(const Config& config, const State& state, Instant now) noexcept {
    return visit(config, [&]<typename M>(Tag<M>, const auto& chosen) {
      return M::room(chosen, kept<M>(state), now);
    });
  }
  static Instant fresh_at(const Config& config, const State& state) noexcept {
    return visit(config, [&]<typename M>(Tag<M>, const auto& chosen) {
      return M::fresh_at(chosen, kept<M>(state));
    });
  }
  static FineInstant* mark(const Config& config, const State& state, FineInstant* to) noexcept {
    return visit(config, [&]<typename M>(Tag<M>, const auto& chosen) {
      return M::mark(chosen, kept<M>(state), to);
    });
  }
  static Cost cancel(const Config& config, State& state, Instant now, const Grant& grant,
                     const FineInstant* mark) noexcept {
    return visit(config, [&]<typename M>(Tag<M>, const auto& chosen) {
      auto* kept = std::get_if<typename M::State>(&state);
      return kept ? M::cancel(chosen, *kept, now, grant, mark) : Cost{0};
    });
  }
  static Cost refund(const Config& config, State& state, Instant now, Cost units) noexcept {
    return visit(config, [&]<typename M>(Tag<M>, const auto& chosen) {
      auto* kept = std::get_if<typename M::State>(&state);
      return kept ? M::refund(chosen, *kept, now, units) : Cost{0};
    });
  }
  static void withdraw(const Config& config, State& state, Instant now,
                       const Withdrawal& withdrawal) noexcept requires(Withdrawable<Ms>&&...) {
    visit(config, [&]<typename M>(Tag<M>, const auto& chosen) {
      auto* kept = std::get_if<typename M::State>(&state);
      if (kept) M::withdraw(chosen, *kept, now, withdrawal);
    });
  }
  static Cost give_back_unused(const Config& config, State& state, Instant now,
                               Unused unused) noexcept {
    return visit(config, [&]<typename M>(Tag<M>, const auto& chosen) {
      auto* kept = std::get_if<typename M::State>(&state);
      return kept ? weir::give_back_unused<M>(chosen, *kept, now, unused) : Cost{0};
    });
  }
  static Cost leave(const Config& config, State& state, Instant now, PermitId permit) noexcept
      requires(Leasing<Ms> || ...) {
    return visit(config, [&]<typename M>(Tag<M>, const auto& chosen) {
      if constexpr (Leasing<M>) {
        auto* kept = std::get_if<typename M::State>(&state);
        if (kept) return M::leave(chosen, *kept, now, permit);
      }
      return Cost{0};
    });
  }
  static Span renew(const Config& config, State& state, Instant now, PermitId permit) noexcept
      requires(Leasing<Ms> || ...) {
    return visit(config, [&]<typename M>(Tag<M>, const auto& chosen) {
      if constexpr (Leasing<M>) {
        auto* kept = std::get_if<typename M::State>(&state);
        if (kept) return M::renew(chosen, *kept, now, permit);
      }
      return Span{0};
    });
  }
  static State inherit(const Kept<AnyOf>& before, const Successor<AnyOf>& after, Inherit how) {
    if (before.config.index() != after.config.index()) return inherit_units(before, after, how);
    return visit(after.config, [&]<typename M>(Tag<M>, const auto& chosen) -> State {
      const auto& config = *std::get_if<typename M::Config>(&before.config);
      return weir::inherit<M>({config, kept<M>(before.state), before.now}, {chosen, after.now},
                              how);
    });
  }
  static void inherit_room(const Config& config, State& state, Instant now, Room had, Inherit how) {
    visit(config, [&]<typename M>(Tag<M>, const auto& chosen) {
      weir::inherit_room<M>(chosen, own<M>(state), now, had, how);
    });
  }
  static void settle(const Config& config, State& state, Instant now, Span slack) noexcept
      requires(Settling<Ms>&&...) {
    visit(config, [&]<typename M>(Tag<M>, const auto& chosen) {
      auto* kept = std::get_if<typename M::State>(&state);
      if (kept) M::settle(chosen, *kept, now, slack);
    });
  }
  static Cost bound(const Config& config, Span length, Cost largest) noexcept {
    return visit(config, [&]<typename M>(Tag<M>, const auto& chosen) {
      return M::bound(chosen, length, largest);
    });
  }

 private:
  template <typename M>
  struct Tag {};

  /// Calls action(Tag<M>, config) for the algorithm M that was chosen.
  template <typename Do>
  static decltype(auto) visit(const Config& config, Do&& action) {
    return std::visit(
        [&]<typename Chosen>(const Chosen& chosen) -> decltype(auto) {
          return find<Do, Chosen, Ms...>(std::forward<Do>(action), chosen);
        },
        config);
  }
  template <typename Do, typename Chosen, typename M, typename... Rest>
  static decltype(auto) find(Do&& action, const Chosen& chosen) {
    if constexpr (std::is_same_v<Chosen, typename M::Config>) {
      return std::forward<Do>(action)(Tag<M>{}, chosen);
    } else {
      return find<Do, Chosen, Rest...>(std::forward<Do>(action), chosen);
    }
  }

  template <typename M>
  static const typename M::State& kept(const State& state) noexcept {
    static const typename M::State never_seen{};
    const auto* own = std::get_if<typename M::State>(&state);
    return own ? *own : never_seen;
  }
  template <typename M>
  static typename M::State& own(State& state) {
    auto* own = std::get_if<typename M::State>(&state);
    return own ? *own : state.template emplace<typename M::State>();
  }
};

}  // namespace weir
