// gRPC's health checking: whether a service serves, asked once or watched.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "server/grpc/services.hpp"

namespace weir::server::grpc {

/// What the services of a server say of themselves. A watcher hears of a change within a second.
///
/// Threads  any
class Health {
 public:
  enum class Serving : std::uint8_t { serving, not_serving };

  /// The empty name is the server as a whole.
  void set(const std::string& service, Serving serving);

  /// None: no such service.
  std::optional<Serving> of(std::string_view service) const;

  /// Adds grpc.health.v1.Health to what clients may call. Requires that this outlives it.
  void serve_by(Services& services) const;

 private:
  mutable std::mutex lock_;
  std::map<std::string, Serving, std::less<>> serving_;
};

}  // namespace weir::server::grpc
