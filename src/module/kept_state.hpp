// The state of one key under one limit, as the server keeps it.
#pragma once

#include <string>
#include <string_view>

#include "module/key.hpp"
#include "module/limits.hpp"

namespace weir::module {

/// Opened, read and settled at `now`; written by keep().
class KeptState {
 public:
  struct Wanted {
    std::string_view key;
    const KnownLimit& limit;
    Key::Use use;
    Instant now;
  };

  /// A sentence with its code where the key holds something else, or lies in another slot.
  static Expected<KeptState, std::string> open(Context* context, const Wanted& wanted);

  const Limit::Machine::Config& config() const noexcept { return limit_->limit.config(); }
  const KnownLimit& limit() const noexcept { return *limit_; }
  const Limit::State& state() const noexcept { return state_; }
  Limit::State& state() noexcept { return state_; }
  bool kept() const noexcept { return kept_; }
  /// Whether a clock that was set back had left it too far ahead: then it is kept as it is now, or
  /// who never waits would be refused until the clock has caught up.
  bool settled() const noexcept { return settled_; }

  /// Writes what the state has become; forgets it where it says no more than one never seen.
  void keep(Instant now);

  /// Forgets it; whether there was something.
  bool erase();

 private:
  KeptState(Context* context, const Wanted& wanted, std::string_view name)
      : limit_(&wanted.limit), name_(context, name), key_(context, name_.get(), wanted.use) {}

  void settle(Instant now);

  const KnownLimit* limit_;
  OwnText name_;
  Key key_;
  Limit::State state_{};
  bool kept_ = false;
  bool settled_ = false;
};

}  // namespace weir::module
