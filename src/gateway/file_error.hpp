// Where and why a file is no rule file.
#pragma once

#include <cstddef>
#include <string>

namespace weir::gateway {

/// A place in a text, both counted from 1; line 0: the text as a whole.
struct Place {
  std::size_t line = 0;
  std::size_t column = 0;

  bool operator==(const Place&) const = default;
};

struct FileError {
  Place at;
  std::string message;  ///< what is wrong there, and what was expected

  bool operator==(const FileError&) const = default;
};

/// "rules.yaml:12:5: message", as compilers and editors have it.
std::string told(const std::string& file, const FileError& error);

}  // namespace weir::gateway
