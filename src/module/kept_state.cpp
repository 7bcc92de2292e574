#include "module/kept_state.hpp"

#include <utility>

#include "redis/scripts.hpp"
#include "redis/stored_form.hpp"

namespace weir::module {
namespace {

using Machine = Limit::Machine;

/// The state of these bytes, if it is one of the limit's machine.
std::optional<Limit::State> read(const Machine::Config& config, std::string_view bytes) {
  auto state = redis::read_stored(bytes);
  if (!state || state->index() != config.index()) return {};
  return state;
}

}  // namespace

Expected<KeptState, std::string> KeptState::open(Context* context, Wanted&& wanted) {
  const Instant now = wanted.now;
  KeptState opened(context, std::move(wanted));
  const Key::Holds holds = opened.key_.holds();
  if (holds == Key::Holds::nothing) return opened;
  if (holds == Key::Holds::bytes) {
    if (auto state = read(opened.config(), opened.key_.bytes())) {
      opened.state_ = *std::move(state);
      opened.kept_ = true;
      opened.settle(now);
      return opened;
    }
  }
  return "WRONGTYPE weir: key " + std::string(opened.name()) +
         " holds something else; expected a state of form " +
         redis::machine_letter(opened.config()) + "1";
}

void KeptState::settle(Instant now) {
  // Only what lies further ahead than any patience is brought back, or than a penalty.
  const bool punishes = std::holds_alternative<Limit::Composite::Config>(config());
  if (!punishes && Machine::fresh_at(config(), state_) <= now + limit_->slack) return;
  const Limit::State before = state_;
  Machine::settle(config(), state_, now, limit_->slack);
  settled_ = state_ != before;
}

void KeptState::keep(Instant now) {
  const Instant fresh_at = Machine::fresh_at(config(), state_);
  if (fresh_at > now) {
    key_.write(redis::write_stored(state_), fresh_at);
    kept_ = true;
  } else {
    erase();
  }
}

bool KeptState::erase() {
  if (!std::exchange(kept_, false)) return false;
  key_.erase();
  return true;
}

}  // namespace weir::module
