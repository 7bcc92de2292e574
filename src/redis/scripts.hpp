// The scripts that decide in the store.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weir/limit.hpp"

namespace weir::redis {

/// What a script does. Keys and arguments, n of each where a request is over n keys:
///
///   take    keys; limits, costs, patience (in microseconds; -1: the limit's own)
///   peek    the same; changes nothing
///   cancel  key; limit, cost, ready_at and marks of the grant's reply
///   refund  key; limit, units
///   release key; limit, permit: the mark's first number where the term is a concurrency limit
///   renew   the same
///   share   key; division, lease, member, its request's number, wants, holds
///
/// take and peek answer with integers: verdict, decided_at, ready_at (-1: never), limit, remaining,
/// reset_at, the key that binds (from 0), then two marks for each term of each key's limit. cancel,
/// refund and release answer with the units that they gave back, renew with the microseconds that
/// are left of the lease: 0 where the permit's holder has left, or its lease has ended. share
/// answers as ShareRegistry, with share, members, learns_for and decided_at.
enum class ScriptVerb : std::uint8_t { take, peek, cancel, refund, release, renew, share };

const char* name(ScriptVerb verb) noexcept;

/// The library carries its number: a release never replaces another's.
inline constexpr std::string_view library_name = "weir_1";

/// The function of a verb: weir_1_take.
std::string function_name(ScriptVerb verb);

/// The command of weir's module that takes a verb's keys and arguments and answers as its function,
/// WEIR_1.TAKE; empty for share, which it leaves to the script.
std::string_view module_command(ScriptVerb verb) noexcept;

/// All functions of all limits, for FUNCTION LOAD (Redis 7 and later).
std::string function_library();

/// The letter of the limit's machine: t, l, f, w, o, c or k, and m for several terms or a penalty.
char machine_letter(const Limit& limit) noexcept;
char machine_letter(const Limit::Machine::Config& config) noexcept;

/// One verb for the limits of one machine, for SCRIPT LOAD and EVALSHA (Redis 5 and later); with m
/// it serves them all. Requires a letter that machine_letter() gives; share needs none.
std::string script_of(ScriptVerb verb, char letter);

}  // namespace weir::redis
