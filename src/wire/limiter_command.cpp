#include "wire/limiter_command.hpp"

#include "wire/integer.hpp"

namespace weir::wire {
namespace {

CommandError usage(std::string_view form) {
  return {"wrong number of arguments; usage: " + std::string(form)};
}

constexpr std::string_view take_usage = "WEIR.TAKE key limit [COST n] [PATIENCE ms]";
constexpr std::string_view peek_usage = "WEIR.PEEK key limit [COST n]";
constexpr std::string_view enter_usage = "WEIR.ENTER key limit [WEIGHT n]";
constexpr std::string_view take_all_usage =
    "WEIR.TAKEALL numkeys key... limit... [COST n | COSTS n...] [PATIENCE ms]";

/// The first thing that is wrong with the arguments, if any.
struct Trouble {
  std::optional<CommandError> error;

  void report(std::string message) {
    if (!error) error = CommandError{std::move(message)};
  }

  std::int64_t number(std::string_view text, const char* what) {
    const auto value = strict_integer(text);
    if (!value) report(std::string(what) + " must be an integer");
    return value.value_or(0);
  }

  Cost cost(std::string_view text, const char* what = "COST") {
    const std::int64_t value = number(text, what);
    if (value < 0 || value > longest_span.count()) {
      report(std::string(what) + " must be between 0 and 2^50");
    }
    return value;
  }

  Span patience(std::string_view text) {
    const std::int64_t value = number(text, "PATIENCE");
    if (value < 0 || value > longest_span.count() / 1000) {
      report("PATIENCE must be between 0 and 2^50 / 1000 milliseconds");
      return Span{0};
    }
    return Span{value * 1000};
  }
};

Expected<TakeCommand, CommandError> read_one(CommandArguments arguments, std::string_view form) {
  const bool waits = form == take_usage;
  if (arguments.size() < 2) return usage(form);
  TakeCommand command{arguments[0], arguments[1], 1, {}};
  Trouble trouble;
  for (std::size_t at = 2; at < arguments.size(); at += 2) {
    if (at + 1 == arguments.size()) return usage(form);
    if (is_word(arguments[at], "COST")) {
      command.cost = trouble.cost(arguments[at + 1]);
    } else if (waits && is_word(arguments[at], "PATIENCE")) {
      command.patience = trouble.patience(arguments[at + 1]);
    } else {
      trouble.report("unknown option; usage: " + std::string(form));
    }
  }
  if (trouble.error) return *trouble.error;
  return command;
}

Expected<PermitCommand, CommandError> read_permit(CommandArguments arguments,
                                                  std::string_view form) {
  if (arguments.size() != 3) return usage(form);
  const auto number = strict_integer(arguments[2]);
  if (!number || *number < 0 || *number > std::int64_t{1} << 53) {
    return CommandError{"permit: expected the permit that WEIR.ENTER gave"};
  }
  return PermitCommand{arguments[0], arguments[1], PermitId{*number}};
}

}  // namespace

bool is_word(std::string_view text, std::string_view word) noexcept {
  if (text.size() != word.size()) return false;
  if (text == word) return true;  // as most clients send it
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if ((c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c) != word[at]) return false;
  }
  return true;
}

Expected<ThrottleCommand, CommandError> read_throttle(CommandArguments arguments) {
  if (arguments.size() < 4 || arguments.size() > 5) {
    return usage("CL.THROTTLE key max_burst count period [quantity]");
  }
  Trouble trouble;
  // redis-cell takes a leading '+', so clients of it may send one.
  const auto number = [&](std::size_t at, const char* what) {
    std::string_view text = arguments[at];
    if (const auto value = short_integer(text)) return *value;
    if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
    return trouble.number(text, what);
  };
  const ThrottleCommand command{arguments[0], number(1, "max_burst"), number(2, "count"),
                                number(3, "period"),
                                arguments.size() == 5 ? number(4, "quantity") : 1};
  if (trouble.error) return *trouble.error;
  return command;
}

Expected<TakeCommand, CommandError> read_take(CommandArguments arguments) {
  return read_one(arguments, take_usage);
}

Expected<TakeCommand, CommandError> read_peek(CommandArguments arguments) {
  return read_one(arguments, peek_usage);
}

Expected<TakeAllCommand, CommandError> read_take_all(CommandArguments arguments,
                                                     std::size_t most_keys) {
  if (arguments.empty()) return usage(take_all_usage);
  Trouble trouble;
  const std::int64_t count = trouble.number(arguments[0], "numkeys");
  if (count < 1 || count > static_cast<std::int64_t>(most_keys)) {
    trouble.report("numkeys must be between 1 and " + std::to_string(most_keys));
  }
  if (trouble.error) return *trouble.error;
  const auto keys = static_cast<std::size_t>(count);
  if (arguments.size() < 1 + 2 * keys) return usage(take_all_usage);

  TakeAllCommand command{arguments.subspan(1, keys),
                         arguments.subspan(1 + keys, keys),
                         std::vector<Cost>(keys, 1),
                         {}};
  for (std::size_t at = 1 + 2 * keys; at < arguments.size();) {
    const std::string_view option = arguments[at++];
    const std::size_t values = is_word(option, "COSTS") ? keys : 1;
    if (arguments.size() - at < values) return usage(take_all_usage);
    if (is_word(option, "COST")) {
      command.costs.assign(keys, trouble.cost(arguments[at]));
    } else if (is_word(option, "COSTS")) {
      for (std::size_t key = 0; key < keys; ++key) {
        command.costs[key] = trouble.cost(arguments[at + key], "COSTS");
      }
    } else if (is_word(option, "PATIENCE")) {
      command.patience = trouble.patience(arguments[at]);
    } else {
      trouble.report("unknown option; usage: " + std::string(take_all_usage));
    }
    at += values;
  }
  if (trouble.error) return *trouble.error;
  return command;
}

Expected<CancelCommand, CommandError> read_cancel(CommandArguments arguments) {
  if (arguments.size() != 3) return usage("WEIR.CANCEL key limit grant");
  return CancelCommand{arguments[0], arguments[1], arguments[2]};
}

Expected<RefundCommand, CommandError> read_refund(CommandArguments arguments) {
  constexpr std::string_view form = "WEIR.REFUND key limit n [ID id]";
  if (arguments.size() != 3 && arguments.size() != 5) return usage(form);
  Trouble trouble;
  RefundCommand command{arguments[0], arguments[1], trouble.cost(arguments[2], "n"), {}};
  if (arguments.size() == 5) {
    if (!is_word(arguments[3], "ID")) {
      trouble.report("unknown option; usage: " + std::string(form));
    }
    command.id = arguments[4];
  }
  if (trouble.error) return *trouble.error;
  return command;
}

Expected<ResetCommand, CommandError> read_reset(CommandArguments arguments) {
  if (arguments.size() != 2) return usage("WEIR.RESET key limit");
  return ResetCommand{arguments[0], arguments[1]};
}

Expected<EnterCommand, CommandError> read_enter(CommandArguments arguments) {
  if (arguments.size() != 2 && arguments.size() != 4) return usage(enter_usage);
  Trouble trouble;
  EnterCommand command{arguments[0], arguments[1], 1};
  if (arguments.size() == 4) {
    if (is_word(arguments[2], "WEIGHT")) {
      command.weight = trouble.cost(arguments[3], "WEIGHT");
    } else {
      trouble.report("unknown option; usage: " + std::string(enter_usage));
    }
  }
  if (trouble.error) return *trouble.error;
  return command;
}

Expected<PermitCommand, CommandError> read_leave(CommandArguments arguments) {
  return read_permit(arguments, "WEIR.LEAVE key limit permit");
}

Expected<PermitCommand, CommandError> read_renew(CommandArguments arguments) {
  return read_permit(arguments, "WEIR.RENEW key limit permit");
}

}  // namespace weir::wire
