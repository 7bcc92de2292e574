// What no command of a module can cost less than: the words and the reply of CL.THROTTLE, with
// nothing decided in between. FLOOR.EMPTY touches no key, FLOOR.READ reads the bytes of one, and
// FLOOR.OPEN those of one that it might have written.
#include <initializer_list>

#include "module/api.hpp"

namespace weir::module {
namespace {

int five_integers(Context* context) noexcept {
  api.ReplyWithArray(context, 5);
  for (const long long number : {1LL, 1LL, 0LL, 86'400LL, 86'400LL}) {
    api.ReplyWithLongLong(context, number);
  }
  return api_ok;
}

int empty(Context* context, Text** /*texts*/, int /*count*/) noexcept {
  return five_integers(context);
}

template <int Mode>
int read(Context* context, Text** texts, int count) noexcept {
  if (count < 2) return api.ReplyWithError(context, "ERR expected a key");
  if (OpenedKey* const key = api.OpenKey(context, texts[1], Mode); key != nullptr) {
    std::size_t size = 0;
    if (api.KeyType(key) == type_string) api.StringDMA(key, &size, Mode);
    api.CloseKey(key);
  }
  return five_integers(context);
}

}  // namespace
}  // namespace weir::module

// NOLINTNEXTLINE(readability-identifier-naming): the name that the server looks for.
extern "C" int RedisModule_OnLoad(weir::module::Context* context, weir::module::Text** /*texts*/,
                                  int /*count*/) noexcept {
  using namespace weir::module;
  if (!load_api(context)) return api_error;
  api.SetModuleAttribs(context, "floor", 1, api_version);
  api.SetModuleOptions(context, option_no_implicit_signal);
  const auto make = [context](const char* name, Entry entry, const char* flags) {
    return api.CreateCommand(context, name, entry, flags, 1, 1, 1) == api_ok;
  };
  const bool made = make("FLOOR.EMPTY", empty, "readonly fast") &&
                    make("FLOOR.READ", read<open_to_read>, "readonly fast") &&
                    make("FLOOR.OPEN", read<open_to_read | open_to_write>, "write deny-oom fast");
  return made ? api_ok : api_error;
}
