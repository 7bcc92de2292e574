// A password's file.
#pragma once

#include <cstddef>
#include <string>

#include "weir/vocabulary.hpp"

namespace weir::redis {

/// Of a password, in bytes.
inline constexpr std::size_t longest_password = 1024;

/// A password's file: its text without a line end behind it.
struct SecretFile {
  std::string secret;
  bool world_readable = false;
};

/// A sentence that says what to do.
struct SecretFileError {
  std::string message;
};

Expected<SecretFile, SecretFileError> read_secret(const std::string& path);

}  // namespace weir::redis
