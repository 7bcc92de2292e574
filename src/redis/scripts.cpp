#include "redis/scripts.hpp"

#include <array>
#include <cassert>
#include <variant>

#include "redis/script_pieces.hpp"

namespace weir::redis {
namespace {

struct MachinePiece {
  char letter;
  std::string_view name;
  std::string_view taken_quickly = {};  ///< the piece that says its commonest take in one function
};
constexpr std::array machine_pieces{
    MachinePiece{'t', "token_bucket", "take_token_bucket"},
    MachinePiece{'l', "leaky_bucket"},
    MachinePiece{'f', "fixed_window", "take_fixed_window"},
    MachinePiece{'w', "sliding_window", "take_sliding_window"},
    MachinePiece{'o', "sliding_log", "take_sliding_log"},
    MachinePiece{'c', "concurrency"},
    MachinePiece{'k', "calendar_window"},
    MachinePiece{'m', "several_terms"},
};
constexpr char all_machines = 'm';

void append(std::string& script, std::string_view name) {
  const std::string_view text = script_piece(name);
  assert(!text.empty());
  script += text;
}

/// In the order of Limit::Machine.
constexpr std::string_view letters = "tlfwockm";
static_assert(letters.size() == std::variant_size_v<Limit::Machine::Config>);

bool serves(char letter, const MachinePiece& piece) {
  return letter == all_machines || letter == piece.letter;
}

bool counts_windows(char letter) {
  return letter == 'f' || letter == 'k' || letter == all_machines;
}

/// What all verbs stand on: the machines, and how limits and states are read.
std::string foundation(char letter) {
  std::string script;
  append(script, "names");
  append(script, "interval");
  if (counts_windows(letter)) append(script, "window_counter");
  std::string table = "local machines = {";
  for (const MachinePiece& piece : machine_pieces) {
    if (!serves(letter, piece)) continue;
    append(script, piece.name);
    table += std::string(1, piece.letter) + " = " + std::string(piece.name) + ", ";
  }
  script += table + "}\n";
  append(script, "config");
  append(script, "state");
  append(script, "decide");
  return script;
}

void append_take(std::string& script, char letter) {
  append(script, "take_one");
  for (const MachinePiece& piece : machine_pieces) {
    if (serves(letter, piece) && !piece.taken_quickly.empty()) append(script, piece.taken_quickly);
  }
  append(script, "take");
}

}  // namespace

const char* name(ScriptVerb verb) noexcept {
  constexpr std::array names{"take", "peek", "cancel", "refund", "release", "renew", "share"};
  return names[static_cast<std::size_t>(verb)];
}

std::string function_name(ScriptVerb verb) { return std::string(library_name) + "_" + name(verb); }

char machine_letter(const Limit& limit) noexcept { return machine_letter(limit.config()); }
char machine_letter(const Limit::Machine::Config& config) noexcept {
  return letters[config.index()];
}

std::string_view module_command(ScriptVerb verb) noexcept {
  constexpr std::array<std::string_view, 7> names{"WEIR_1.TAKE",
                                                  "WEIR_1.PEEK",
                                                  "WEIR_1.CANCEL",
                                                  "WEIR_1.REFUND",
                                                  "WEIR_1.RELEASE",
                                                  "WEIR_1.RENEW",
                                                  ""};
  return names[static_cast<std::size_t>(verb)];
}

std::string function_library() {
  std::string library = "#!lua name=" + std::string(library_name) + "\n" + foundation(all_machines);
  append_take(library, all_machines);
  for (const std::string_view piece :
       {"peek", "give_back", "cancel", "refund", "permits", "share", "library"}) {
    append(library, piece);
  }
  return library;
}

std::string script_of(ScriptVerb verb, char letter) {
  std::string script;
  if (verb == ScriptVerb::share) {
    append(script, "names");
  } else {
    script = foundation(letter);
  }
  switch (verb) {
    case ScriptVerb::take: append_take(script, letter); break;
    case ScriptVerb::peek: append(script, "peek"); break;
    case ScriptVerb::cancel:
    case ScriptVerb::refund:
      append(script, "give_back");
      append(script, name(verb));
      break;
    case ScriptVerb::release:
    case ScriptVerb::renew:
      append(script, "give_back");
      append(script, "permits");
      break;
    case ScriptVerb::share: append(script, "share"); break;
  }
  return script + "return " + name(verb) + "(KEYS, ARGV)\n";
}

}  // namespace weir::redis
