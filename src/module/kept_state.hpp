// The state of one key under one limit, as the server keeps it.
#pragma once

#include <string>
#include <string_view>

#include "module/key.hpp"
#include "redis/told_limit.hpp"

namespace weir::module {

/// Opened, read and settled at `now`; written by keep().
class KeptState {
 public:
  struct Wanted {
    KeyName name;
    const redis::ToldLimit& limit;  ///< which must outlive it
    Key::Use use;
    Instant now;
  };

  /// A sentence with its code where the key holds something else.
  static Expected<KeptState, std::string> open(Context* context, Wanted&& wanted);

  std::string_view name() const noexcept { return view(name_.get()); }
  const redis::ToldLimit& limit() const noexcept { return *limit_; }
  const Limit::Machine::Config& config() const noexcept { return limit_->config; }
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
  KeptState(Context* context, Wanted&& wanted)
      : limit_(&wanted.limit),
        name_(std::move(wanted.name)),
        key_(context, name_.get(), wanted.use) {}

  void settle(Instant now);

  const redis::ToldLimit* limit_;
  KeyName name_;
  Key key_;
  Limit::State state_{};
  bool kept_ = false;
  bool settled_ = false;
};

}  // namespace weir::module
