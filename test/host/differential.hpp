// One tester for every host: the same seeded schedules go to the host and to the pure machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/limit.hpp"

namespace weir::host {

/// A key under a limit.
struct Subject {
  std::string_view key;
  const Limit& limit;
};

/// What a host must answer. To put a new host under test, write this adapter and call
/// expect_equal_to_pure(); nothing else is needed.
///
/// The tester's `now` never goes back, over all calls to a host. Where a host reads its own clock,
/// the adapter first sets that to `now`. Where it answers in fewer words than a Decision, the
/// adapter overrides comparable().
class Host {
 public:
  virtual ~Host() = default;

  virtual std::string name() const = 0;

  /// Steps the key. The tester knows the grant by `ticket`, a number that it uses once; the adapter
  /// keeps whatever cancel() will need (marks, an id from the wire).
  virtual Decision take(const Subject& subject, const Request& request, std::size_t ticket) = 0;

  /// What take() would answer; changes nothing.
  virtual Decision peek(const Subject& subject, const Request& request) = 0;

  /// The units given back.
  virtual Cost cancel(const Subject& subject, Instant now, std::size_t ticket) = 0;
  virtual Cost refund(const Subject& subject, Instant now, Cost units) = 0;

  /// Of a permit, under a limit that hands them out: the units given back, and what is left of the
  /// lease. Not asked of a host that gives_back() nothing.
  virtual Cost leave(const Subject&, Instant, PermitId) { return 0; }
  virtual Span renew(const Subject&, Instant, PermitId) { return Span{0}; }

  /// Forgets the key; whether something was kept.
  virtual bool reset(const Subject& subject, Instant now) = 0;

  /// The state as stored, where the host can tell: a state never seen where nothing is kept. What
  /// is past may be gone from it.
  virtual std::optional<Limit::State> stored(const Subject&) { return std::nullopt; }

  /// Whether the host can keep this limit at all (one word holds no log).
  virtual bool keeps(const Limit&) const { return true; }

  /// Whether cancel() and refund() are those of the machine. One with a line gives back more, and
  /// is held to the laws of a line instead (test/local/line).
  virtual bool gives_back() const { return true; }

  /// How its grants are cancelled: all or nothing where `joint`.
  virtual Turn turn() const { return Turn::own; }

  /// Patience is told to it in whole ones of these.
  virtual Span patience_grain() const { return Span{1}; }

  /// Whether peek() is told of patience.
  virtual bool peeks_with_patience() const { return true; }

  /// Called now and then: time for the host to drop what is fresh, or to flush.
  virtual void idle(Instant) {}

  /// The part of a decision that the host tells; the rest is not compared.
  virtual Decision comparable(Decision decision) const { return decision; }
};

/// Which schedules to drive: `count` of them, of `events` events each, from seed `first` on.
struct Seeds {
  std::uint64_t first = 1;
  std::size_t count = 50;
  std::size_t events = 400;
};

/// How much was compared, so that a test can see that it was not for nothing.
struct Compared {
  std::size_t decisions = 0;
  std::size_t taken = 0;
  std::size_t denied = 0;
  std::size_t given_back = 0;  ///< units, by cancel and refund
  std::size_t renewed = 0;     ///< leases
  std::size_t states = 0;      ///< stored states that were looked at
};

/// Drives the host and the pure machine through the same schedules, over several keys under several
/// limits at once, and reports the first answer in which they differ as a test failure, with the
/// events of that key before it.
Compared expect_equal_to_pure(Host& host, const Seeds& seeds);

}  // namespace weir::host
