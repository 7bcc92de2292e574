// What COMMAND INFO, COMMAND DOCS and cluster clients are told of a command.
#pragma once

#include <cstddef>
#include <cstdint>

#include "module/api.hpp"

namespace weir::module {

// As the API lays these out, version 1 (Redis 7.0).

enum class ArgumentType : int { string = 0, integer = 1, number = 2, key = 3, pure_token = 7 };
inline constexpr int argument_optional = 1 << 0;
inline constexpr int argument_multiple = 1 << 1;

struct ArgumentInfo {
  const char* name = nullptr;  ///< null ends a list
  ArgumentType type = ArgumentType::string;
  int key_spec = -1;
  const char* token = nullptr;
  const char* summary = nullptr;
  const char* since = nullptr;
  int flags = 0;
  const char* deprecated_since = nullptr;
  const ArgumentInfo* inner = nullptr;
};

inline constexpr std::uint64_t key_read_only = 1ULL << 0;
inline constexpr std::uint64_t key_read_write = 1ULL << 1;
inline constexpr std::uint64_t key_access = 1ULL << 4;
inline constexpr std::uint64_t key_update = 1ULL << 5;

struct KeySpec {
  const char* notes = nullptr;
  std::uint64_t flags = 0;  ///< none: ends a list
  int begins = 0;           ///< 2: at an index
  union {
    struct {
      int at;
    } index;
    struct {
      const char* word;
      int from;
    } keyword;
  } begin{};
  int finds = 0;  ///< 2: a range; 3: as many as an argument says
  union {
    struct {
      int last;
      int step;
      int limit;
    } range;
    struct {
      int count_at;
      int first;
      int step;
    } counted;
  } find{};
};

struct HistoryEntry {
  const char* since;
  const char* changes;
};

struct CommandInfoVersion {
  int version;
  std::size_t history_entry_bytes;
  std::size_t key_spec_bytes;
  std::size_t argument_bytes;
};

struct CommandInfo {
  const CommandInfoVersion* version;
  const char* summary;
  const char* complexity;
  const char* since;
  const HistoryEntry* history;
  const char* tips;
  int arity;
  const KeySpec* key_specs;
  const ArgumentInfo* arguments;
};

/// One of this module's commands, in words.
struct CommandText {
  const char* summary;
  int arity;  ///< the name included; negative for "at least"
  const ArgumentInfo* arguments;
};

/// Which of a command's arguments are keys, and what it does to them.
enum class KeyUse : std::uint8_t {
  reads_first,
  gives_back_first,
  changes_first,
  reads_counted,
  gives_back_counted,
  changes_counted,
};

/// Tells the server, where it can be told.
void describe(Context* context, const char* command, const CommandText& text, KeyUse use) noexcept;

}  // namespace weir::module
