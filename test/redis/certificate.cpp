#include "test/redis/certificate.hpp"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <system_error>

namespace weir::test {
namespace {

using File = std::unique_ptr<std::FILE, decltype(&std::fclose)>;

void must(bool done) {
  if (!done) throw std::runtime_error("no certificate can be made");
}

}  // namespace

Certificate::Certificate(const std::string& names) {
  std::string pattern = (std::filesystem::temp_directory_path() / "weir-tls-XXXXXX").string();
  must(::mkdtemp(pattern.data()) != nullptr);
  folder_ = pattern;
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> pair(EVP_EC_gen("P-256"),
                                                                 EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&X509_free)> made(X509_new(), X509_free);
  must(pair && made);
  X509_set_version(made.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), 24 * 3600);
  X509_set_pubkey(made.get(), pair.get());
  X509_NAME* const subject = X509_get_subject_name(made.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("weir test"), -1, -1, 0);
  X509_set_issuer_name(made.get(), subject);
  X509_EXTENSION* const extension =
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names.c_str());
  must(extension != nullptr && X509_add_ext(made.get(), extension, -1) == 1);
  X509_EXTENSION_free(extension);
  must(X509_sign(made.get(), pair.get(), EVP_sha256()) > 0);
  const File certificate(std::fopen(file().c_str(), "w"), std::fclose);
  const File key_file(std::fopen(key().c_str(), "w"), std::fclose);
  must(certificate && key_file && PEM_write_X509(certificate.get(), made.get()) == 1 &&
       PEM_write_PrivateKey(key_file.get(), pair.get(), nullptr, nullptr, 0, nullptr, nullptr) ==
           1);
}

Certificate::~Certificate() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace weir::test
