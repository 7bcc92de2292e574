#include "server/password.hpp"

#include <openssl/crypto.h>
#include <openssl/sha.h>

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

}  // namespace weir::server
