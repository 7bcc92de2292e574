#include "redis/secret_file.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

namespace weir::redis {

Expected<SecretFile, SecretFileError> read_secret(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(longest_password + 3, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  // A folder opens, and fails at the first read.
  if (!file.is_open() || file.bad()) {
    return SecretFileError{"cannot read the password from " + path + ": " +
                           std::generic_category().message(errno ? errno : EISDIR)};
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  if (text.empty()) return SecretFileError{path + " is empty; expected the password on one line"};
  if (text.size() > longest_password) {
    return SecretFileError{path + " is too long; a password has at most " +
                           std::to_string(longest_password) + " bytes"};
  }
  if (text.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) {
    return SecretFileError{path + " has more than one line; expected the password alone"};
  }
  struct stat status {};
  const bool known = ::stat(path.c_str(), &status) == 0;
  return SecretFile{std::move(text), known && (status.st_mode & S_IROTH) != 0};
}

}  // namespace weir::redis
