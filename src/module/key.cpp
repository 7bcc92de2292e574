#include "module/key.hpp"

#include <algorithm>
#include <cstring>

#include "module/clock.hpp"

namespace weir::module {
namespace {

/// A key of Redis is gone in the millisecond after the one that is named.
long long last_ms(Instant fresh_at) noexcept {
  return static_cast<long long>((fresh_at.time_since_epoch().count() + 999) / 1'000);
}

}  // namespace

void Key::announce(const char* event, int type) {
  api.SignalModifiedKey(context_, name_);
  api.NotifyKeyspaceEvent(context_, type, event, name_);
}

void Key::write(std::string_view bytes, Instant fresh_at) {
  std::size_t size = 0;
  char* place = nullptr;
  if (holds() == Holds::bytes) place = api.StringDMA(key_, &size, mode_);
  if (!place || size != bytes.size()) {
    api.StringTruncate(key_, bytes.size());
    place = api.StringDMA(key_, &size, mode_);
  }
  std::memcpy(place, bytes.data(), bytes.size());
  const long long until_ms = last_ms(fresh_at);
  if (api.SetAbsExpire) {
    api.SetAbsExpire(key_, until_ms);
  } else {
    const long long now_ms = wall_clock().time_since_epoch().count() / 1'000;
    api.SetExpire(key_, std::max(until_ms - now_ms, 1LL));
  }
  api.Replicate(context_, "SET", "sbcl", name_, bytes.data(), bytes.size(), "PXAT", until_ms);
  announce("set", notify_string);
  api.NotifyKeyspaceEvent(context_, notify_generic, "expire", name_);
}

void Key::erase() {
  api.DeleteKey(key_);
  api.Replicate(context_, "DEL", "s", name_);
  announce("del", notify_generic);
}

}  // namespace weir::module
