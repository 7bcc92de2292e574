#include "cli/tls_client.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace weir::cli {
namespace {

/// What OpenSSL last complained of, in its own words.
std::string complaint() {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return reason ? reason : "it closed the connection";
}

/// Why a call on the socket failed.
std::string failure(const ssl_st* ssl, int result) {
  const int saved = errno;
  const int fault = SSL_get_error(ssl, result);
  if (fault == SSL_ERROR_WANT_READ || fault == SSL_ERROR_WANT_WRITE ||
      (fault == SSL_ERROR_SYSCALL && saved == EAGAIN)) {
    return "it took too long";
  }
  const long verified = SSL_get_verify_result(ssl);
  if (verified != X509_V_OK) {
    return std::string("its certificate is not trusted: ") +
           X509_verify_cert_error_string(verified) + "; name its authority with --tls-ca FILE";
  }
  return complaint();
}

/// Whom the certificate must name.
bool expect_host(ssl_st* ssl, const std::string& host) {
  if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str()) == 1) return true;
  return SSL_set1_host(ssl, host.c_str()) == 1 && SSL_set_tlsext_host_name(ssl, host.c_str()) == 1;
}

}  // namespace

TlsClient::~TlsClient() = default;

Expected<std::unique_ptr<TlsClient>, TlsError> TlsClient::open(const Wanted& wanted) {
  std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to a socket whose other end may be gone
  ERR_clear_error();
  std::unique_ptr<TlsClient> client(new TlsClient);
  std::string trouble = client->prepare(wanted);
  if (trouble.empty()) trouble = client->shake_hands(wanted);
  if (!trouble.empty()) return TlsError{trouble};
  return client;
}

std::string TlsClient::prepare(const Wanted& wanted) {
  context_ = {SSL_CTX_new(TLS_client_method()), SSL_CTX_free};
  SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_default_passwd_cb(context_.get(), [](char*, int, int, void*) { return 0; });
  const int trusted = wanted.ca.empty()
                          ? SSL_CTX_set_default_verify_paths(context_.get())
                          : SSL_CTX_load_verify_file(context_.get(), wanted.ca.c_str());
  if (trusted != 1) return "cannot read certificates from " + wanted.ca + ": " + complaint();
  if (wanted.certificate.empty()) return "";
  if (SSL_CTX_use_certificate_chain_file(context_.get(), wanted.certificate.c_str()) != 1) {
    return "cannot read a certificate from " + wanted.certificate + ": " + complaint();
  }
  if (SSL_CTX_use_PrivateKey_file(context_.get(), wanted.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return "cannot use the key in " + wanted.key + ": " + complaint();
  }
  return "";
}

std::string TlsClient::shake_hands(const Wanted& wanted) {
  ssl_ = {SSL_new(context_.get()), SSL_free};
  if (!expect_host(ssl_.get(), wanted.host) || SSL_set_fd(ssl_.get(), wanted.descriptor) != 1) {
    return complaint();
  }
  const int result = SSL_connect(ssl_.get());
  return result == 1 ? "" : failure(ssl_.get(), result);
}

bool TlsClient::send(std::string_view bytes, std::string& why) {
  std::size_t written = 0;
  const int result = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &written);
  if (result != 1) why = failure(ssl_.get(), result);
  return result == 1;
}

std::size_t TlsClient::receive(std::span<char> room, std::string& why) {
  std::size_t count = 0;
  const int result = SSL_read_ex(ssl_.get(), room.data(), room.size(), &count);
  if (result != 1) why = failure(ssl_.get(), result);
  return result == 1 ? count : 0;
}

}  // namespace weir::cli
