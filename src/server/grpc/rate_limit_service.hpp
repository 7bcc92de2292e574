// Envoy's rate limit service: what is asked goes to who decides, and what was decided back.
#pragma once

#include <google/protobuf/struct.pb.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/grpc/rate_limit_ask.hpp"
#include "server/grpc/services.hpp"
#include "weir/vocabulary.hpp"

namespace weir::server::grpc {

inline constexpr std::string_view rate_limit_service =
    "envoy.service.ratelimit.v3.RateLimitService";
inline constexpr std::string_view rate_limit_method =
    "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

enum class RateLimitCode : std::uint8_t { unknown = 0, ok = 1, over_limit = 2 };

/// Units that a client may spend without asking again.
struct RateLimitQuota {
  std::uint32_t requests;  ///< > 0
  Instant valid_until;     ///< in Unix time
  std::string id{};        ///< quotas of one id are one
};

/// What was decided on one descriptor.
struct RateLimitStatus {
  /// The limit that a descriptor met.
  struct Limit {
    std::uint32_t requests_per_unit;
    RateLimitUnit unit;
    std::string name{};
  };

  RateLimitCode code = RateLimitCode::ok;
  std::optional<Limit> limit{};  ///< none: it met no limit
  std::uint32_t remaining = 0;
  std::optional<Span> until_reset{};
  std::optional<RateLimitQuota> quota{};
};

/// A header field that Envoy adds.
struct RateLimitHeader {
  std::string_view name;  ///< a literal
  std::string value;
};

struct RateLimitAnswer {
  RateLimitCode overall = RateLimitCode::ok;
  std::vector<RateLimitStatus> statuses{};  ///< one for each descriptor, in their order
  std::vector<RateLimitHeader> response_headers{};
  std::vector<RateLimitHeader> request_headers{};
  std::string raw_body{};  ///< for who made the request, where it is over its limit
  std::shared_ptr<const google::protobuf::Struct> dynamic_metadata{};
  std::optional<RateLimitQuota> quota{};  ///< for all descriptors together
};

/// Where an answer goes. Copies are the same place; the first answer counts.
///
/// Threads  post() any; the rest the connection's
class RateLimitReply {
 public:
  RateLimitReply(Reply reply, std::size_t descriptors)
      : reply_(std::move(reply)), descriptors_(descriptors) {}

  /// Requires as many statuses as descriptors were asked; with others the call ends with INTERNAL.
  void answer(const RateLimitAnswer& answer) const;
  /// There is no answer: how the call ends instead.
  void fail(Status status) const { reply_.finish(std::move(status)); }
  /// answer(), on the connection's thread.
  void post(RateLimitAnswer&& answer) const;
  /// fail(), on the connection's thread.
  void post_failure(Status status) const;

 private:
  Reply reply_;
  std::size_t descriptors_;
};

/// Who decides.
///
/// Threads  those of the connections whose services it was added to
class RateLimitDecider {
 public:
  RateLimitDecider() = default;
  virtual ~RateLimitDecider() = default;
  RateLimitDecider(const RateLimitDecider&) = delete;
  RateLimitDecider& operator=(const RateLimitDecider&) = delete;

  /// Answers by the reply, once, now or later. What `ask` shows lives until this returns.
  virtual void decide(const RateLimitAsk& ask, RateLimitReply reply) = 0;
};

/// Adds envoy.service.ratelimit.v3.RateLimitService to what clients may call. Requires that the
/// decider outlives it.
void serve_rate_limits_by(Services& services, RateLimitDecider& decider,
                          RateLimitBounds bounds = {});

}  // namespace weir::server::grpc
