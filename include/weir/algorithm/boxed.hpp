// An algorithm whose state lives on the heap.
#pragma once

#include <memory>

#include "weir/algorithm/inherit.hpp"

namespace weir {

/// A value on the heap that copies deep; empty equals a default value. Eight bytes.
template <typename Value>
class Box {
 public:
  Box() = default;
  Box(const Box& other) : value_(other.value_ ? std::make_unique<Value>(*other.value_) : nullptr) {}
  Box(Box&&) noexcept = default;
  Box& operator=(const Box& other) {
    if (this != &other) *this = Box(other);
    return *this;
  }
  Box& operator=(Box&&) noexcept = default;
  ~Box() = default;

  const Value& get() const noexcept {
    static const Value none{};
    return value_ ? *value_ : none;
  }
  Value& open() {
    if (!value_) value_ = std::make_unique<Value>();
    return *value_;
  }

  Value* get_if() noexcept { return value_.get(); }

  friend bool operator==(const Box& left, const Box& right) { return left.get() == right.get(); }

 private:
  std::unique_ptr<Value> value_;
};

/// Another algorithm, its state behind a pointer: in a variant, the rare large state then does not
/// widen the common small ones.
template <Algorithm Inner>
struct Boxed {
  using Config = typename Inner::Config;
  using State = Box<typename Inner::State>;

  static Cost capacity(const Config& config) noexcept { return Inner::capacity(config); }
  static std::optional<Span> own_wait(const Config& config, Cost cost) noexcept {
    return Inner::own_wait(config, cost);
  }
  static Span least_wait(const Config& config, Cost cost) noexcept requires Delaying<Inner> {
    return Inner::least_wait(config, cost);
  }
  static Instant earliest(const Config& config, const State& state, Instant now,
                          Cost cost) noexcept {
    return Inner::earliest(config, state.get(), now, cost);
  }
  static void refuse(const Config& config, State& state, Instant now, Span patience,
                     Cost cost) requires Punishing<Inner> {
    Inner::refuse(config, state.open(), now, patience, cost);
  }
  static void charge(const Config& config, State& state, Instant at, Cost cost) {
    Inner::charge(config, state.open(), at, cost);
  }
  static Room room(const Config& config, const State& state, Instant now) noexcept {
    return Inner::room(config, state.get(), now);
  }
  static Instant fresh_at(const Config& config, const State& state) noexcept {
    return Inner::fresh_at(config, state.get());
  }
  static FineInstant* mark(const Config& config, const State& state, FineInstant* to) noexcept {
    return Inner::mark(config, state.get(), to);
  }
  static Cost cancel(const Config& config, State& state, Instant now, const Grant& grant,
                     const FineInstant* mark) noexcept {
    auto* kept = state.get_if();
    return kept ? Inner::cancel(config, *kept, now, grant, mark) : 0;
  }
  static Cost refund(const Config& config, State& state, Instant now, Cost units) noexcept {
    auto* kept = state.get_if();
    return kept ? Inner::refund(config, *kept, now, units) : 0;
  }
  static void withdraw(const Config& config, State& state, Instant now,
                       const Withdrawal& withdrawal) noexcept requires Withdrawable<Inner> {
    if (auto* kept = state.get_if()) Inner::withdraw(config, *kept, now, withdrawal);
  }
  static Cost leave(const Config& config, State& state, Instant now,
                    PermitId permit) noexcept requires Leasing<Inner> {
    auto* kept = state.get_if();
    return kept ? Inner::leave(config, *kept, now, permit) : 0;
  }
  static Span renew(const Config& config, State& state, Instant now,
                    PermitId permit) noexcept requires Leasing<Inner> {
    auto* kept = state.get_if();
    return kept ? Inner::renew(config, *kept, now, permit) : Span{0};
  }
  static State inherit(const Kept<Boxed>& before, const Successor<Boxed>& after, Inherit how) {
    State state;
    state.open() = weir::inherit<Inner>({before.config, before.state.get(), before.now},
                                        {after.config, after.now}, how);
    return state;
  }
  static void inherit_room(const Config& config, State& state, Instant now, Room had, Inherit how) {
    weir::inherit_room<Inner>(config, state.open(), now, had, how);
  }
  static void settle(const Config& config, State& state, Instant now,
                     Span slack) noexcept requires Settling<Inner> {
    if (auto* kept = state.get_if()) Inner::settle(config, *kept, now, slack);
  }

  static Cost bound(const Config& config, Span length, Cost largest) noexcept {
    return Inner::bound(config, length, largest);
  }
};

}  // namespace weir
