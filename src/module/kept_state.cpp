#include "module/kept_state.hpp"

#include <utility>

#include "redis/scripts.hpp"
#include "redis/stored_form.hpp"
#include "redis/stored_key.hpp"

namespace weir::module {
namespace {

using Machine = Limit::Machine;

/// Whether the name that a state has lies in the slot of the key that the command declares.
bool same_slot(std::string_view key) noexcept {
  return !key.empty() && key.find_first_of("{}%") == std::string_view::npos;
}

/// The state of these bytes, if it is one of the limit's machine.
std::optional<Limit::State> read(const Limit& limit, std::string_view bytes) {
  auto state = redis::read_stored(bytes);
  if (!state || state->index() != limit.config().index()) return {};
  return state;
}

}  // namespace

Expected<KeptState, std::string> KeptState::open(Context* context, const Wanted& wanted) {
  if (!same_slot(wanted.key) && (api.GetContextFlags(context) & flag_cluster) != 0) {
    return std::string("ERR key: in a cluster expected one without '{', '}' and '%', not empty");
  }
  const std::string name = redis::stored_key({wanted.key, wanted.limit.name});
  KeptState opened(context, wanted, name);
  const Key::Holds holds = opened.key_.holds();
  if (holds == Key::Holds::nothing) return opened;
  if (holds == Key::Holds::bytes) {
    if (auto state = read(wanted.limit.limit, opened.key_.bytes())) {
      opened.state_ = *std::move(state);
      opened.kept_ = true;
      opened.settle(wanted.now);
      return opened;
    }
  }
  return "WRONGTYPE weir: key " + name + " holds something else; expected a state of form " +
         redis::machine_letter(wanted.limit.limit) + "1";
}

void KeptState::settle(Instant now) {
  // Only what lies further ahead than any patience is brought back.
  if (Machine::fresh_at(config(), state_) <= now + limit_->slack) return;
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
