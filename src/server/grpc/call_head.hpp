// What a call's header says: which method, how its messages come, how long the client waits.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "server/grpc/protocol.hpp"
#include "server/grpc/services.hpp"

namespace weir::server::grpc {

/// Why a call is not taken on: what HTTP's status says of it, and gRPC's.
struct Refusal {
  std::string_view http_status;
  Status status;
};

/// Reads a call's header, field by field.
///
/// Memory   of fields it does not know: nothing; of a path it does not: 128 bytes
class CallHead {
 public:
  /// One field of the list. Requires what HTTP/2 allows: names in lower case.
  void read(std::string_view name, std::string_view value, const Services& services);

  /// Whether the fields so far are longer than that, counted as HTTP/2 does.
  bool longer_than(std::size_t list_bytes) const noexcept { return list_bytes_ > list_bytes; }

  /// Once all are read: why it cannot be taken on, if it cannot. Otherwise there is a method().
  std::optional<Refusal> refusal(std::size_t most_list_bytes) const;

  const Method* method() const noexcept { return method_; }
  std::optional<std::chrono::nanoseconds> timeout() const noexcept { return timeout_; }
  /// What a message that says it is compressed is compressed by; empty: by nothing.
  std::string_view encoding() const noexcept { return encoding_; }

 private:
  const Method* method_ = nullptr;
  std::optional<std::chrono::nanoseconds> timeout_;
  std::size_t list_bytes_ = 0;
  std::string unknown_path_;
  std::string encoding_;
  bool posts_ = false;
  bool is_grpc_ = false;
  bool bad_timeout_ = false;
};

}  // namespace weir::server::grpc
