#include "redis/tls.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <new>
#include <utility>

namespace weir::redis {
namespace {

/// What OpenSSL last complained of, in its own words.
std::string complaint() {
  const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return reason != nullptr ? reason : "the server closed the connection";
}

/// A key that is locked by a passphrase is refused: nobody sits there to be asked.
int no_passphrase(char* /*room*/, int /*size*/, int /*writing*/, void* /*told*/) { return 0; }

/// What to do about a certificate that was not taken.
const char* mend_for(long verified) {
  switch (verified) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH: return "connect by a name that it has";
    case X509_V_ERR_CERT_HAS_EXPIRED: return "renew it";
    case X509_V_ERR_CERT_NOT_YET_VALID: return "set this machine's clock, or renew it";
    default: return "name its authority by tls_ca";
  }
}

/// Whom the certificate must name.
bool expect_host(ssl_st* ssl, const std::string& host) {
  if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str()) == 1) return true;
  return SSL_set1_host(ssl, host.c_str()) == 1 && SSL_set_tlsext_host_name(ssl, host.c_str()) == 1;
}

}  // namespace

Expected<TlsContext, ClientError> load_tls(const Client::Settings& files) {
  ERR_clear_error();
  const TlsContext context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  if (!context) throw std::bad_alloc();
  SSL_CTX* const tls = context.get();
  SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION);
  SSL_CTX_set_options(
      tls, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_session_cache_mode(tls, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_verify(tls, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_default_passwd_cb(tls, no_passphrase);
  if (files.tls_ca.empty()) {
    SSL_CTX_set_default_verify_paths(tls);
  } else if (SSL_CTX_load_verify_file(tls, files.tls_ca.c_str()) != 1) {
    return ClientError{"cannot read certificates from " + files.tls_ca + "; expected a PEM file (" +
                       complaint() + ")"};
  }
  if (files.tls_certificate.empty()) return context;
  if (SSL_CTX_use_certificate_chain_file(tls, files.tls_certificate.c_str()) != 1) {
    return ClientError{"cannot read a certificate from " + files.tls_certificate +
                       "; expected a PEM file (" + complaint() + ")"};
  }
  if (SSL_CTX_use_PrivateKey_file(tls, files.tls_key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return ClientError{"cannot use the key in " + files.tls_key +
                       "; expected a PEM file without a passphrase, the key of " +
                       files.tls_certificate + " (" + complaint() + ")"};
  }
  return context;
}

void TlsSession::Free::operator()(ssl_st* ssl) const noexcept { SSL_free(ssl); }

TlsSession::TlsSession(const TlsContext& context, const std::string& host)
    : ssl_(SSL_new(context.get())) {
  BIO* const in = BIO_new(BIO_s_mem());
  BIO* const out = BIO_new(BIO_s_mem());
  if (!ssl_ || in == nullptr || out == nullptr) throw std::bad_alloc();
  BIO_set_mem_eof_return(in, -1);
  SSL_set_bio(ssl_.get(), in, out);
  SSL_set_connect_state(ssl_.get());
  if (!expect_host(ssl_.get(), host)) throw std::bad_alloc();
  shake_hands();
}

void TlsSession::shake_hands() {
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  if (result != 1) return fail(result);
  state_ = State::established;
  say(std::exchange(waiting_, {}));
}

void TlsSession::say(std::string_view plain) {
  if (state_ == State::handshake) waiting_ += plain;
  if (state_ != State::established || plain.empty()) return;
  ERR_clear_error();
  std::size_t written = 0;  // all of it: the other side of the BIO is memory
  const int result = SSL_write_ex(ssl_.get(), plain.data(), plain.size(), &written);
  if (result != 1) fail(result);
}

void TlsSession::hear(std::string_view received, std::string& plain) {
  BIO_write(SSL_get_rbio(ssl_.get()), received.data(), static_cast<int>(received.size()));
  if (state_ == State::handshake) shake_hands();
  std::array<char, 4096> room;
  while (state_ == State::established) {
    ERR_clear_error();
    std::size_t count = 0;
    const int result = SSL_read_ex(ssl_.get(), room.data(), room.size(), &count);
    if (result != 1) return fail(result);
    plain.append(room.data(), count);
  }
}

/// After a call that did not succeed, perhaps only for now.
void TlsSession::fail(int result) {
  const int fault = SSL_get_error(ssl_.get(), result);
  if (fault == SSL_ERROR_WANT_READ) return;
  state_ = State::over;
  const long verified = SSL_get_verify_result(ssl_.get());
  if (verified != X509_V_OK) {
    trouble_ = std::string("its certificate is not trusted: ") +
               X509_verify_cert_error_string(verified) + "; " + mend_for(verified);
    ERR_clear_error();
  } else {
    trouble_ = fault == SSL_ERROR_ZERO_RETURN ? "it closed the connection" : complaint();
  }
}

void TlsSession::take_output(std::string& out) {
  BIO* const bio = SSL_get_wbio(ssl_.get());
  char* bytes = nullptr;
  const long count = BIO_get_mem_data(bio, &bytes);
  if (count <= 0) return;
  out.append(bytes, static_cast<std::size_t>(count));
  BIO_reset(bio);
}

}  // namespace weir::redis
