#include "server/password.hpp"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <sys/stat.h>

#include <cerrno>
#include <fstream>
#include <system_error>

namespace weir::server {

Password::Digest Password::digest_of(std::string_view text) {
  Digest digest;
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return digest;
}

void Password::set(std::string_view secret) {
  const Digest digest = digest_of(secret);
  const std::lock_guard lock(mutex_);
  digest_ = digest;
  required_.store(true, std::memory_order_relaxed);
}

bool Password::matches(const Credentials& credentials) const {
  const Digest given = digest_of(credentials.secret);
  Digest known;
  {
    const std::lock_guard lock(mutex_);
    known = digest_;
  }
  const bool secret = CRYPTO_memcmp(given.data(), known.data(), known.size()) == 0;
  const bool user = credentials.user == "default";
  return secret && user;
}

Expected<SecretFile, StartError> read_secret(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(longest_password + 3, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  // A folder opens, and fails at the first read.
  if (!file.is_open() || file.bad()) {
    return StartError{"cannot read the password from " + path + ": " +
                      std::generic_category().message(errno ? errno : EISDIR)};
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  if (text.empty()) return StartError{path + " is empty; expected the password on one line"};
  if (text.size() > longest_password) {
    return StartError{path + " is too long; a password has at most " +
                      std::to_string(longest_password) + " bytes"};
  }
  if (text.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) {
    return StartError{path + " has more than one line; expected the password alone"};
  }
  struct stat status {};
  const bool known = ::stat(path.c_str(), &status) == 0;
  return SecretFile{std::move(text), known && (status.st_mode & S_IROTH) != 0};
}

}  // namespace weir::server
