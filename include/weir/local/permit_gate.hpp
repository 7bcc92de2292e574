// The verbs of what lets calls in and holds a place for each until it ends.
#pragma once

#include <chrono>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "weir/local/clocks.hpp"
#include "weir/local/entering.hpp"
#include "weir/local/permit.hpp"

namespace weir {

/// Hears of every call that was let in and has ended: listener(sample), in the thread that ends it,
/// outside of any lock and after its place is free. This one hears nothing, and no clock is read
/// for it.
struct NoSamples {
  void operator()(const CallSample&) const noexcept {}
};

/// Lets calls in by what its host decides; see BasicConcurrencyLimit for the verbs. A host has
///
///   Holding, Admitted        what one that was let in gives back; Admission<Holding>
///   try_enter(entry, now)    at once, or not at all
///   enter_or_join(waiter, now), look(waiter, now), give_up(waiter, because, now)
///                            for who waits; one that gives up may have been let in meanwhile
///   leave(holding, now)      false where nothing was held any more
///   changes_at()             when to look again, though nobody tells
///   expires                  whether what is held ends by itself; then each verb needs the time
template <typename AnyHost, typename AnyClock, typename Listener>
class PermitGate {
 public:
  using Host = AnyHost;
  using Clock = AnyClock;
  using Holding = typename Host::Holding;
  using Permit = weir::Permit<PermitGate>;
  using Entering = EnteringCoroutine<PermitGate>;

  static constexpr std::chrono::nanoseconds forever = std::chrono::nanoseconds::max();
  static constexpr bool expires = Host::expires;

  /// What makes the host, then what it goes by.
  template <typename HostFrom>
  PermitGate(std::in_place_t, HostFrom&& from, Clock clock, Listener listener)
      : host_(std::forward<HostFrom>(from)),
        clock_(std::move(clock)),
        listener_(std::move(listener)) {}
  PermitGate(const PermitGate&) = delete;
  PermitGate& operator=(const PermitGate&) = delete;

  Permit try_enter(const Entry& entry = {}) { return try_enter(entry, time()); }
  Permit try_enter(const Entry& entry, SteadyInstant now) {
    return Permit(*this, host_.try_enter(entry, now), now);
  }

  Permit enter_for(const Entry& entry, std::chrono::nanoseconds timeout) {
    return wait({entry, timeout, {}});
  }
  Permit enter_for(const Entry& entry, std::chrono::nanoseconds timeout, std::stop_token stop) {
    return wait({entry, timeout, std::move(stop)});
  }
  Permit enter(const Entry& entry = {}) { return wait({entry, forever, {}}); }
  Permit enter(const Entry& entry, std::stop_token stop) {
    return wait({entry, forever, std::move(stop)});
  }

  /// `co_await` it: a Permit.
  Entering async_enter(const Entry& entry = {}, std::stop_token stop = {}) {
    return {*this, {entry, forever, std::move(stop)}};
  }
  Entering async_enter_for(const Entry& entry, std::chrono::nanoseconds timeout,
                           std::stop_token stop = {}) {
    return {*this, {entry, timeout, std::move(stop)}};
  }

  Host& host() noexcept { return host_; }
  const Host& host() const noexcept { return host_; }
  const Clock& clock() const noexcept { return clock_; }
  const Listener& listener() const noexcept { return listener_; }

  /// The time, where anybody wants to know it.
  SteadyInstant time() const noexcept {
    if constexpr (expires || listens) {
      return clock_.now();
    } else {
      return {};
    }
  }

  // What permits ask.

  void end(const Holding& holding, const EndedCall& call) noexcept { end(holding, call, time()); }
  void end(const Holding& holding, const EndedCall& call, SteadyInstant now) noexcept {
    if (!host_.leave(holding, now)) return;
    if constexpr (listens) listener_(call.sample(now));
  }
  void withdraw(const Holding& holding) noexcept {
    static_cast<void>(host_.leave(holding, expires ? clock_.now() : SteadyInstant{}));
  }
  bool renew(const Holding& holding) noexcept { return renew(holding, clock_.now()); }
  bool renew(const Holding& holding, SteadyInstant now) noexcept {
    return host_.renew(holding, now);
  }

 private:
  static constexpr bool listens = !std::is_same_v<Listener, NoSamples>;

  Permit wait(const WaitingEntry& wanted) {
    SteadyInstant now = time();
    auto admitted = Host::Admitted::refused(Refusal::stopped);
    if (!wanted.stop.stop_requested()) {
      admitted = host_.try_enter(wanted.entry, now);
      if (admitted.verdict == Verdict::denied && wanted.waits()) [[unlikely]] {
        admitted = EnteringThread<Host>::wait(host_, clock_, wanted);
        now = time();  // what it waited is none of its latency
      }
    }
    return Permit(*this, admitted, now);
  }

  Host host_;
  [[no_unique_address]] Clock clock_;
  [[no_unique_address]] Listener listener_;
};

}  // namespace weir
