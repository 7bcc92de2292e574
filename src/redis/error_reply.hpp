// What an error of Redis means to who asked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "redis/node.hpp"

namespace weir::redis {

/// Of what kind an error is: by its first word, and by its sentence where that word is ERR.
enum class ErrorKind : std::uint8_t {
  moved,             ///< the slot is another node's now
  ask,               ///< the slot is on its way, and this key has gone already
  try_again,         ///< the slot is on its way, and some keys have gone
  cluster_down,      ///< the slot is nobody's, or too few nodes see each other
  master_down,       ///< a replica without its master
  read_only,         ///< a replica: who was the master is so no longer
  loading,           ///< reading its data set
  busy,              ///< a script runs for too long
  no_replicas,       ///< fewer replicas than it must have to be written to
  cannot_save,       ///< and so will not be written to
  out_of_memory,     ///< at maxmemory
  no_script,         ///< not in the script cache
  no_function,       ///< no such function is loaded
  no_auth,           ///< a password is wanted
  wrong_password,    ///< that user has another, or there is none of that name
  no_permission,     ///< the ACL forbids the command, the key or the channel
  protected_mode,    ///< from elsewhere it wants a password, and has none
  wrong_type,        ///< the key holds something else
  cross_slot,        ///< keys of several slots in one command
  unknown_command,   ///< too old a server, or renamed, or a module that is not loaded
  no_protocol,       ///< HELLO: this dialect is not spoken
  too_many_clients,  ///< or other that ends a connection before it begins
  other,
};
inline constexpr std::size_t error_kinds = 23;

const char* name(ErrorKind kind) noexcept;

/// What to do about it. "Nothing ran": no key was written, so asking again charges nobody twice.
enum class Remedy : std::uint8_t {
  redirect,       ///< nothing ran: ask the node that it names
  find_master,    ///< nothing ran: ask anew who the master is, then that one
  reload,         ///< nothing ran: load the script or the functions, then ask again
  unavailable,    ///< nothing ran: the store cannot decide now; it may soon
  operator_acts,  ///< nothing ran, and nothing will until a person changes rights or settings
  caller_errs,    ///< the command is at fault; asked again, it fails again
};

const char* name(Remedy remedy) noexcept;

/// The kind of an error reply's text.
ErrorKind kind_of(std::string_view error) noexcept;

Remedy remedy_for(ErrorKind kind) noexcept;

/// What a server said, fit for a message: one line of at most 200 printable bytes.
std::string in_one_line(std::string_view said);

/// Where a slot or a key has gone.
struct Redirect {
  ErrorKind kind = ErrorKind::moved;  ///< moved or ask
  std::uint16_t slot = 0;
  Node node{};  ///< an empty host is the host that said so

  bool operator==(const Redirect&) const = default;
};

/// Nothing where the text is no such error, or leads nowhere: a slot or port that cannot be, "?".
std::optional<Redirect> read_redirect(std::string_view error);

}  // namespace weir::redis
