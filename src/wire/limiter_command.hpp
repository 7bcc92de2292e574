// The limiter commands, from arguments to typed requests.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/vocabulary.hpp"

namespace weir::wire {

/// Why arguments are no command: a sentence for the client.
struct CommandError {
  std::string message;
};

/// CL.THROTTLE key max_burst count period [quantity]
struct ThrottleCommand {
  std::string_view key;
  std::int64_t max_burst;
  std::int64_t count;
  std::int64_t period_s;
  std::int64_t quantity;
};

/// WEIR.TAKE key limit [COST n] [PATIENCE ms], and WEIR.PEEK key limit [COST n]
struct TakeCommand {
  std::string_view key;
  std::string_view limit;  ///< a limit's text, or "@name"
  Cost cost = 1;
  std::optional<Span> patience;
};

/// WEIR.TAKEALL numkeys key... limit... [COST n | COSTS n...] [PATIENCE ms]
struct TakeAllCommand {
  std::span<const std::string_view> keys;
  std::span<const std::string_view> limits;
  std::vector<Cost> costs;  ///< one for each key
  std::optional<Span> patience;
};

/// WEIR.CANCEL key limit grant
struct CancelCommand {
  std::string_view key;
  std::string_view limit;
  std::string_view grant;
};

/// WEIR.REFUND key limit n [ID id]
struct RefundCommand {
  std::string_view key;
  std::string_view limit;
  Cost units = 0;
  std::optional<std::string_view> id;
};

/// WEIR.RESET key limit
struct ResetCommand {
  std::string_view key;
  std::string_view limit;
};

/// WEIR.ENTER key limit [WEIGHT n]
struct EnterCommand {
  std::string_view key;
  std::string_view limit;
  Cost weight = 1;
};

/// WEIR.LEAVE key limit permit, and WEIR.RENEW of the same form
struct PermitCommand {
  std::string_view key;
  std::string_view limit;
  PermitId permit = PermitId::none;  ///< none: of shared states, which give no permit back
};

/// What stands behind a command's name; views into the arguments.
using CommandArguments = std::span<const std::string_view>;

/// Numbers are decimal integers: costs 0 to 2^50, patience 0 to 2^50 microseconds. Each error says
/// which argument is wrong and what was expected of it.
Expected<ThrottleCommand, CommandError> read_throttle(CommandArguments arguments);
Expected<TakeCommand, CommandError> read_take(CommandArguments arguments);
Expected<TakeCommand, CommandError> read_peek(CommandArguments arguments);
Expected<TakeAllCommand, CommandError> read_take_all(CommandArguments arguments,
                                                     std::size_t most_keys);
Expected<CancelCommand, CommandError> read_cancel(CommandArguments arguments);
Expected<RefundCommand, CommandError> read_refund(CommandArguments arguments);
Expected<ResetCommand, CommandError> read_reset(CommandArguments arguments);
Expected<EnterCommand, CommandError> read_enter(CommandArguments arguments);
Expected<PermitCommand, CommandError> read_leave(CommandArguments arguments);
Expected<PermitCommand, CommandError> read_renew(CommandArguments arguments);

/// Whether `text` is `word` in any case. Requires `word` in capitals.
bool is_word(std::string_view text, std::string_view word) noexcept;

}  // namespace weir::wire
