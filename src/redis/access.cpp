#include "redis/access.hpp"

#include <utility>

#include "redis/secret_file.hpp"

namespace weir::redis {
namespace {

const char* fault_of(const Client::Settings& settings) {
  constexpr std::chrono::nanoseconds none{0};
  constexpr std::chrono::nanoseconds day = std::chrono::hours{24};
  if (settings.calls_in_flight == 0) return "calls_in_flight: expected 1 or more";
  if (settings.unsent_bytes == 0) return "unsent_bytes: expected 1 or more";
  if (settings.connect_within <= none || settings.connect_within > day) {
    return "connect_within: expected more than 0 and at most a day";
  }
  if (settings.longest_pause <= none || settings.longest_pause > day) {
    return "longest_pause: expected more than 0 and at most a day";
  }
  if (settings.tls_certificate.empty() != settings.tls_key.empty()) {
    return "tls_certificate and tls_key: expected both or none";
  }
  return nullptr;
}

}  // namespace

Expected<Access, ClientError> read_access(std::string_view url, const Client::Settings& settings) {
  auto parsed = parse_url(url);
  if (!parsed) {
    return ClientError{"column " + std::to_string(parsed.error().column) +
                       " of the store's URL: " + parsed.error().message};
  }
  if (const char* const fault = fault_of(settings)) return ClientError{fault};
  Access access{.url = std::move(parsed).value(), .settings = settings};
  access.password = access.url.password;
  if (!access.url.password_file.empty()) {
    auto file = read_secret(access.url.password_file);
    if (!file) return ClientError{file.error().message};
    access.password = file->secret;
  }
  if (access.url.transport == Url::Transport::tls) {
    auto tls = load_tls(settings);
    if (!tls) return tls.error();
    access.tls = *tls;
  }
  return access;
}

}  // namespace weir::redis
