#include "module/api.hpp"

#include <array>

namespace weir::module {

constinit Api api{};

bool load_api(Context* context) noexcept {
  // The context begins with the address of GetApi.
  using GetApi = int (*)(const char*, void*);
  const auto get = *reinterpret_cast<const GetApi*>(context);
  bool complete = true;
  const auto find = [&](const char* name, auto& function) {
    return get(name, &function) == api_ok && function != nullptr;
  };
#define WEIR_NEEDED(name) complete = find("RedisModule_" #name, api.name) && complete
  WEIR_NEEDED(CreateCommand);
  WEIR_NEEDED(SetModuleAttribs);
  WEIR_NEEDED(IsModuleNameBusy);
  WEIR_NEEDED(SetModuleOptions);
  WEIR_NEEDED(GetContextFlags);
  WEIR_NEEDED(Log);
  WEIR_NEEDED(CreateString);
  WEIR_NEEDED(FreeString);
  WEIR_NEEDED(StringPtrLen);
  WEIR_NEEDED(OpenKey);
  WEIR_NEEDED(CloseKey);
  WEIR_NEEDED(KeyType);
  WEIR_NEEDED(StringDMA);
  WEIR_NEEDED(StringTruncate);
  WEIR_NEEDED(DeleteKey);
  WEIR_NEEDED(SetExpire);
  WEIR_NEEDED(SignalModifiedKey);
  WEIR_NEEDED(NotifyKeyspaceEvent);
  WEIR_NEEDED(Replicate);
  WEIR_NEEDED(IsKeysPositionRequest);
  WEIR_NEEDED(KeyAtPos);
  WEIR_NEEDED(ReplyWithError);
  WEIR_NEEDED(ReplyWithLongLong);
  WEIR_NEEDED(ReplyWithArray);
  WEIR_NEEDED(ReplyWithStringBuffer);
  WEIR_NEEDED(ReplyWithNull);
#undef WEIR_NEEDED
#define WEIR_WELCOME(name) static_cast<void>(find("RedisModule_" #name, api.name))
  WEIR_WELCOME(SetAbsExpire);
  WEIR_WELCOME(ReplyWithMap);
  WEIR_WELCOME(GetCommand);
  WEIR_WELCOME(SetCommandInfo);
  WEIR_WELCOME(SetCommandACLCategories);
#undef WEIR_WELCOME
  return complete;
}

}  // namespace weir::module
