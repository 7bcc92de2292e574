#include "cli/tls_options.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace weir::cli {
namespace {

struct TlsOption {
  const char* name;
  const char* text;
  std::string server::TlsFileNames::*file;
};

constexpr std::array<TlsOption, 3> tls_options{{
    {"--tls-cert", "PEM, the certificate and the chain behind it",
     &server::TlsFileNames::certificate},
    {"--tls-key", "PEM, its key, without a passphrase", &server::TlsFileNames::key},
    {"--tls-client-ca", "PEM; clients must show a certificate that it signed",
     &server::TlsFileNames::client_ca},
}};

}  // namespace

void add_tls_options(CLI::App& command, server::TlsFileNames& files) {
  for (const TlsOption& option : tls_options) {
    command.add_option(option.name, files.*option.file, option.text)->type_name("FILE");
  }
}

std::string tls_help() {
  std::string page = R"(TLS on those addresses of weir serve that begin with tls:

Examples:
  weir serve --resp tls:10.0.0.5:7379 --tls-cert cert.pem --tls-key key.pem
  weir serve --http tls:10.0.0.5:443 --tls-cert cert.pem --tls-key key.pem

Usage: weir serve --tls-cert FILE --tls-key FILE [OPTION...]

)";
  for (const TlsOption& option : tls_options) {
    std::string line = std::string("  ") + option.name + " FILE";
    line.resize(25, ' ');
    page += line + option.text + '\n';
  }
  return page + R"(
TLS 1.2 and 1.3. Files that change are read again, at once after SIGHUP; a pair
that does not fit changes nothing, and the log says why.
)";
}

std::optional<InputError> read_tls(const server::TlsFileNames& files, server::Options& options) {
  options.tls = files;
  if (options.tls.certificate.empty() != options.tls.key.empty()) {
    return InputError{"--tls-cert and --tls-key go together"};
  }
  if (!options.tls.client_ca.empty() && options.tls.key.empty()) {
    return InputError{"--tls-client-ca needs --tls-cert and --tls-key"};
  }
  const auto any_tls = [](const std::vector<std::string>& addresses) {
    return std::ranges::any_of(
        addresses, [](const std::string& address) { return address.starts_with("tls:"); });
  };
  if (!options.tls.key.empty() && !any_tls(options.resp) && !any_tls(options.http) &&
      !any_tls(options.grpc)) {
    return InputError{"--tls-cert is for tls: addresses; add one, as in --resp tls:0.0.0.0:7379"};
  }
  return {};
}

}  // namespace weir::cli
