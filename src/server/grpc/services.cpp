#include "server/grpc/services.hpp"

namespace weir::server::grpc {

std::vector<std::string> Services::names() const {
  std::vector<std::string> names;
  for (const auto& [path, method] : methods_) {
    std::string name = path.substr(1, path.rfind('/') - 1);
    if (names.empty() || names.back() != name) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace weir::server::grpc
