// What people write on a command line, read with errors that show the place.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/limit.hpp"

namespace weir::cli {

/// A text, and what it was to be: "limit", "--every".
struct Input {
  std::string_view name;
  std::string_view text;
};

/// Why a text cannot be what it was to be.
struct InputError {
  std::string message;              ///< a whole sentence, without the program's name before it
  std::string text{};               ///< what to point into
  std::optional<std::size_t> at{};  ///< where, from 0; absent: nothing to point at
};

/// One column a byte, whatever the bytes are: what is no printable ASCII shows as '?'.
std::string printable(std::string_view text);

/// Prints "weir: ", the message, and where there is a place the text with a caret below it.
void report(std::ostream& err, const InputError& error);

/// The error at a column (from 1) of the input, as LimitError counts them.
InputError error_at(const Input& input, const LimitError& error);

/// The words of a limit, in one argument or several: a shell wants quotes for '&' alone.
Expected<Limit, InputError> read_limit(const std::vector<std::string>& words);

/// [number] unit, as in a limit: "250ms", "0s".
Expected<Span, InputError> read_span(const Input& input);

/// A whole number, optionally with k or M, from `least` to 2^50.
struct CountRange {
  Cost least = 1;
};
Expected<Cost, InputError> read_count(const Input& input, CountRange range);

/// A number of things, 1 or more; where nothing was said, `size` stays what it is.
std::optional<InputError> read_size(const Input& input, std::size_t& size);

}  // namespace weir::cli
