// A certificate that is its own authority, in files of a temporary folder.
#pragma once

#include <string>

namespace weir::test {

class Certificate {
 public:
  /// `names` as in subjectAltName: "IP:127.0.0.1".
  explicit Certificate(const std::string& names);
  ~Certificate();
  Certificate(const Certificate&) = delete;
  Certificate& operator=(const Certificate&) = delete;

  std::string file() const { return folder_ + "/certificate.pem"; }
  std::string key() const { return folder_ + "/key.pem"; }

 private:
  std::string folder_;
};

}  // namespace weir::test
