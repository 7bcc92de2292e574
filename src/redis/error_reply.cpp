#include "redis/error_reply.hpp"

#include <algorithm>

#include "redis/slots.hpp"
#include "wire/integer.hpp"

namespace weir::redis {
namespace {

struct Row {
  ErrorKind kind;
  const char* name;
  std::string_view begins;  ///< a code alone, or the beginning of a sentence
  Remedy remedy;
};

constexpr Row rows[] = {
    {ErrorKind::moved, "moved", "MOVED", Remedy::redirect},
    {ErrorKind::ask, "ask", "ASK", Remedy::redirect},
    {ErrorKind::try_again, "try_again", "TRYAGAIN", Remedy::unavailable},
    {ErrorKind::cluster_down, "cluster_down", "CLUSTERDOWN", Remedy::unavailable},
    {ErrorKind::master_down, "master_down", "MASTERDOWN", Remedy::find_master},
    {ErrorKind::read_only, "read_only", "READONLY", Remedy::find_master},
    {ErrorKind::loading, "loading", "LOADING", Remedy::unavailable},
    {ErrorKind::busy, "busy", "BUSY", Remedy::unavailable},
    {ErrorKind::no_replicas, "no_replicas", "NOREPLICAS", Remedy::unavailable},
    {ErrorKind::cannot_save, "cannot_save", "MISCONF", Remedy::unavailable},
    {ErrorKind::out_of_memory, "out_of_memory", "OOM", Remedy::unavailable},
    {ErrorKind::no_script, "no_script", "NOSCRIPT", Remedy::reload},
    {ErrorKind::no_function, "no_function", "ERR Function not found", Remedy::reload},
    {ErrorKind::no_auth, "no_auth", "NOAUTH", Remedy::operator_acts},
    {ErrorKind::wrong_password, "wrong_password", "WRONGPASS", Remedy::operator_acts},
    {ErrorKind::no_permission, "no_permission", "NOPERM", Remedy::operator_acts},
    {ErrorKind::protected_mode, "protected_mode", "DENIED", Remedy::operator_acts},
    {ErrorKind::wrong_type, "wrong_type", "WRONGTYPE", Remedy::caller_errs},
    {ErrorKind::cross_slot, "cross_slot", "CROSSSLOT", Remedy::caller_errs},
    {ErrorKind::unknown_command, "unknown_command", "ERR unknown command", Remedy::caller_errs},
    {ErrorKind::no_protocol, "no_protocol", "NOPROTO", Remedy::caller_errs},
    {ErrorKind::too_many_clients, "too_many_clients", "ERR max number of clients",
     Remedy::unavailable},
    {ErrorKind::other, "other", "", Remedy::caller_errs},
};

static_assert([] {
  std::size_t at = 0;
  for (const Row& row : rows) {
    if (static_cast<std::size_t>(row.kind) != at++) return false;
  }
  return at == error_kinds;
}());

/// Whether `error` begins with the whole words `begins`.
bool says(std::string_view error, std::string_view begins) {
  return error.starts_with(begins) &&
         (error.size() == begins.size() || error[begins.size()] == ' ' || begins.empty());
}

const Row& row_of(ErrorKind kind) noexcept { return rows[static_cast<std::uint8_t>(kind)]; }

}  // namespace

const char* name(ErrorKind kind) noexcept { return row_of(kind).name; }

const char* name(Remedy remedy) noexcept {
  constexpr const char* names[] = {"redirect",    "find_master",   "reload",
                                   "unavailable", "operator_acts", "caller_errs"};
  return names[static_cast<std::uint8_t>(remedy)];
}

ErrorKind kind_of(std::string_view error) noexcept {
  for (const Row& row : rows) {
    if (says(error, row.begins)) return row.kind;
  }
  return ErrorKind::other;
}

Remedy remedy_for(ErrorKind kind) noexcept { return row_of(kind).remedy; }

std::string in_one_line(std::string_view said) {
  constexpr std::size_t longest = 200;
  std::string out(said.substr(0, longest));
  for (char& c : out) c = c >= ' ' && c <= '~' ? c : '?';
  return out;
}

std::optional<Redirect> read_redirect(std::string_view error) {
  Redirect redirect{.kind = kind_of(error)};
  if (remedy_for(redirect.kind) != Remedy::redirect) return {};
  error.remove_prefix(std::min(row_of(redirect.kind).begins.size() + 1, error.size()));
  const std::size_t blank = error.find(' ');
  if (blank == std::string_view::npos) return {};
  const auto slot = wire::strict_integer(error.substr(0, blank));
  if (!slot || *slot < 0 || *slot >= slot_count) return {};
  redirect.slot = static_cast<std::uint16_t>(*slot);
  // Redis writes an IPv6 address without brackets: the last colon is the one before the port.
  const std::string_view where = error.substr(blank + 1);
  const std::size_t colon = where.rfind(':');
  if (colon == std::string_view::npos) return {};
  const std::string_view host = where.substr(0, colon);
  const auto port = read_port(where.substr(colon + 1));
  if (!port || host == "?" || !(host.empty() || is_host(host))) return {};
  redirect.node = {std::string(host), *port};
  return redirect;
}

}  // namespace weir::redis
