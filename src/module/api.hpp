// What this module uses of the server's module API, which is found at load by name: an interface of
// C functions that Redis and Valkey keep stable. Declared here as far as it is used.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weir::module {

struct Context;  ///< of one call; the server's
struct Text;     ///< a string of the server's
struct OpenedKey;
struct CommandHandle;
struct CommandInfo;

inline constexpr int api_ok = 0;
inline constexpr int api_error = 1;
inline constexpr int api_version = 1;

inline constexpr int open_to_read = 1 << 0;
inline constexpr int open_to_write = 1 << 1;

inline constexpr int type_empty = 0;
inline constexpr int type_string = 1;

inline constexpr int notify_generic = 1 << 2;
inline constexpr int notify_string = 1 << 3;

inline constexpr int flag_cluster = 1 << 5;
inline constexpr int flag_out_of_memory = 1 << 10;

/// We say ourselves which keys were changed, so that a refusal disturbs no WATCH.
inline constexpr int option_no_implicit_signal = 1 << 1;

using Entry = int (*)(Context*, Text**, int) noexcept;

// NOLINTBEGIN(readability-identifier-naming): the words of the API.

/// The functions; null where the server is too old to have one.
struct Api {
  int (*CreateCommand)(Context*, const char* name, Entry, const char* flags, int first, int last,
                       int step);
  void (*SetModuleAttribs)(Context*, const char* name, int version, int api);
  int (*IsModuleNameBusy)(const char* name);
  void (*SetModuleOptions)(Context*, int options);
  int (*GetContextFlags)(Context*);
  void (*Log)(Context*, const char* level, const char* format, ...);

  Text* (*CreateString)(Context*, const char*, std::size_t);
  void (*FreeString)(Context*, Text*);
  const char* (*StringPtrLen)(const Text*, std::size_t*);

  OpenedKey* (*OpenKey)(Context*, Text*, int mode);
  void (*CloseKey)(OpenedKey*);
  int (*KeyType)(OpenedKey*);
  char* (*StringDMA)(OpenedKey*, std::size_t*, int mode);
  int (*StringTruncate)(OpenedKey*, std::size_t);
  int (*DeleteKey)(OpenedKey*);
  int (*SetExpire)(OpenedKey*, long long ms);
  int (*SignalModifiedKey)(Context*, Text*);
  int (*NotifyKeyspaceEvent)(Context*, int type, const char* event, Text* key);
  int (*Replicate)(Context*, const char* command, const char* format, ...);

  int (*IsKeysPositionRequest)(Context*);
  void (*KeyAtPos)(Context*, int);

  int (*ReplyWithError)(Context*, const char*);
  int (*ReplyWithLongLong)(Context*, long long);
  int (*ReplyWithArray)(Context*, long);
  int (*ReplyWithStringBuffer)(Context*, const char*, std::size_t);
  int (*ReplyWithNull)(Context*);

  // Of Redis 6.2.2, 7.0 and later.
  int (*SetAbsExpire)(OpenedKey*, long long unix_ms);
  int (*ReplyWithMap)(Context*, long);
  CommandHandle* (*GetCommand)(Context*, const char* name);
  int (*SetCommandInfo)(CommandHandle*, const CommandInfo*);
  int (*SetCommandACLCategories)(CommandHandle*, const char* categories);
};

// NOLINTEND(readability-identifier-naming)

/// Finds the functions; false where one is missing that this module cannot do without. Before that
/// none may be called.
bool load_api(Context* context) noexcept;

extern Api api;

}  // namespace weir::module
