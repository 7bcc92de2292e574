#include "server/tls.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/stat.h>

#include <algorithm>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

namespace weir::server {
namespace {

constexpr long most_certificate_bytes = 32 << 10;  ///< of the chain that a client shows

/// What OpenSSL last complained of.
std::string complaint() {
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_peek_last_error(), text.data(), text.size());
  ERR_clear_error();
  return text.data();
}

/// A key that is locked by a passphrase is refused: nobody sits there to be asked.
int no_passphrase(char*, int, int, void*) { return 0; }

/// As ALPN has names: a length, then the name. RESP has none.
std::string_view alpn_name(Speaks what) noexcept {
  switch (what) {
    case Speaks::resp: return {};
    case Speaks::http: return "\x08http/1.1";
    case Speaks::grpc: return "\x02h2";
  }
  return {};
}

/// Clients of gRPC go away where it is not chosen. Who speaks nothing that has a name is not asked.
int choose_protocol(ssl_st* ssl, const unsigned char** chosen, unsigned char* length,
                    const unsigned char* offered, unsigned int bytes, void*) {
  const auto* const speaks = static_cast<const Speaks*>(SSL_get_app_data(ssl));
  const std::string_view ours = alpn_name(*speaks);
  if (ours.empty()) return SSL_TLSEXT_ERR_NOACK;
  std::string_view theirs(reinterpret_cast<const char*>(offered), bytes);
  while (!theirs.empty()) {
    const std::size_t one = std::size_t{1} + static_cast<unsigned char>(theirs.front());
    if (theirs.substr(0, one) == ours) {
      *chosen = reinterpret_cast<const unsigned char*>(theirs.data()) + 1;
      *length = static_cast<unsigned char>(ours.size() - 1);
      return SSL_TLSEXT_ERR_OK;
    }
    theirs.remove_prefix(std::min(one, theirs.size()));
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

std::optional<StartError> use_files(ssl_ctx_st* context, const TlsFileNames& files) {
  if (SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) != 1) {
    return StartError{"cannot read a certificate from " + files.certificate +
                      "; expected a PEM file (" + complaint() + ")"};
  }
  if (SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    // A key of another certificate is noticed here already.
    return StartError{"cannot use the key in " + files.key +
                      "; expected a PEM file without a passphrase, the key of " +
                      files.certificate + " (" + complaint() + ")"};
  }
  if (files.client_ca.empty()) return {};
  STACK_OF(X509_NAME)* names = SSL_load_client_CA_file(files.client_ca.c_str());
  if (!names || SSL_CTX_load_verify_file(context, files.client_ca.c_str()) != 1) {
    sk_X509_NAME_pop_free(names, X509_NAME_free);
    return StartError{"cannot read certificates from " + files.client_ca +
                      "; expected a PEM file (" + complaint() + ")"};
  }
  SSL_CTX_set_client_CA_list(context, names);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return {};
}

}  // namespace

Expected<TlsContext, StartError> load_tls(const TlsFileNames& files) {
  ERR_clear_error();
  const TlsContext context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (!context) throw std::bad_alloc();
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                         SSL_OP_NO_TICKET | SSL_OP_IGNORE_UNEXPECTED_EOF);
  // Connections last, so resuming saves little; and a resumed session would outlive the
  // certificates that it was trusted by.
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_read_ahead(context.get(), 1);  // one call of the kernel a record, not two
  SSL_CTX_set_max_cert_list(context.get(), most_certificate_bytes);
  SSL_CTX_set_default_passwd_cb(context.get(), no_passphrase);
  SSL_CTX_set_alpn_select_cb(context.get(), choose_protocol, nullptr);
  if (auto error = use_files(context.get(), files)) return *std::move(error);
  return context;
}

TlsFiles::Stamps TlsFiles::stamps() const {
  Stamps stamps{};
  std::size_t at = 0;
  for (const std::string* name : {&names_.certificate, &names_.key, &names_.client_ca}) {
    struct stat status {};
    if (!name->empty() && ::stat(name->c_str(), &status) == 0) {
      stamps[at] = {status.st_dev, status.st_ino,
                    std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
    }
    ++at;
  }
  return stamps;
}

std::optional<StartError> TlsFiles::load() {
  read_ = seen_ = stamps();  // before reading: a change meanwhile is seen the next time
  auto loaded = load_tls(names_);
  if (!loaded) return loaded.error();
  context_ = std::move(loaded).value();
  return {};
}

bool TlsFiles::changed() {
  const Stamps last = std::exchange(seen_, stamps());
  return seen_ == last && seen_ != read_;
}

void TlsStream::Free::operator()(ssl_st* ssl) const noexcept { SSL_free(ssl); }

TlsStream::TlsStream(const TlsContext& context, const Of& of) : ssl_(SSL_new(context.get())) {
  static constexpr std::array<Speaks, spoken> kinds{Speaks::resp, Speaks::http, Speaks::grpc};
  if (!ssl_ || SSL_set_fd(ssl_.get(), of.descriptor) != 1) throw std::bad_alloc();
  // OpenSSL keeps an address; the stream may move.
  const Speaks& kind = kinds[static_cast<std::size_t>(of.speaks)];
  SSL_set_app_data(ssl_.get(), const_cast<Speaks*>(&kind));
  SSL_set_accept_state(ssl_.get());
}

/// What to do after a call that did not succeed.
TlsStream::Step TlsStream::step_after(int result) {
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ: return Step::wants_read;
    case SSL_ERROR_WANT_WRITE: return Step::wants_write;
    case SSL_ERROR_ZERO_RETURN: return Step::ended;
    default: broken_ = true; return Step::ended;
  }
}

TlsStream::Step TlsStream::handshake() {
  ERR_clear_error();  // SSL_get_error looks at what this thread's last connection left behind
  const int result = SSL_do_handshake(ssl_.get());
  if (result != 1) return step_after(result);
  established_ = true;
  return Step::done;
}

TlsStream::Moved TlsStream::read(std::span<char> room) {
  ERR_clear_error();
  std::size_t bytes = 0;
  const int result = SSL_read_ex(ssl_.get(), room.data(), room.size(), &bytes);
  if (result != 1) return {step_after(result)};
  return {Step::done, bytes};
}

TlsStream::Moved TlsStream::write(std::string_view bytes) {
  ERR_clear_error();
  std::size_t written = 0;
  const int result = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &written);
  if (result != 1) return {step_after(result)};
  return {Step::done, written};
}

bool TlsStream::holds_input() const { return SSL_has_pending(ssl_.get()) == 1; }

void TlsStream::finish() {
  if (!established_ || broken_) return;
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
}

}  // namespace weir::server
