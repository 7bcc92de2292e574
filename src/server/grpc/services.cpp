#include "server/grpc/services.hpp"

#include <google/protobuf/message_lite.h>
#include <google/protobuf/stubs/logging.h>

namespace weir::server::grpc {
namespace {

/// Protocol Buffers would write a line to standard error for each message that is no UTF-8: what a
/// client sends is answered, and fills no log.
[[maybe_unused]] const auto silenced = google::protobuf::SetLogHandler(nullptr);

}  // namespace

void Reply::send(const google::protobuf::MessageLite& message) const {
  send(message.SerializeAsString());
}

std::vector<std::string> Services::names() const {
  std::vector<std::string> names;
  for (const auto& [path, method] : methods_) {
    std::string name = path.substr(1, path.rfind('/') - 1);
    if (names.empty() || names.back() != name) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace weir::server::grpc
