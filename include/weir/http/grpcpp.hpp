// Access limits before a handler of gRPC.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "weir/http/access_limit.hpp"
#include "weir/http/peer.hpp"

namespace weir::http {

/// What a handler of gRPC knows of its call.
struct GrpcCall {
  std::string_view method;  ///< in full: "/forum.Forum/Reply"; in declarations POST, or any
  std::string_view user{};  ///< who is logged in; empty: nobody
  std::string_view ip{};    ///< empty: the peer's address
};

/// The status in the handler's place; none where the handler is to be run.
///
///   if (auto refused = weir::http::refusal(limits, *context, {.method = "/forum.Forum/Reply"})) {
///     return *refused;
///   }
///
/// RESOURCE_EXHAUSTED, UNAUTHENTICATED or UNAVAILABLE; the reply's body is the message, and its
/// fields are trailing metadata: retry-after, ratelimit, ratelimit-policy.
///
/// Threads  that of the handler
/// Errors   as AccessLimits::decide()
inline std::optional<::grpc::Status> refusal(const AccessLimits& limits,
                                             ::grpc::ServerContextBase& context,
                                             const GrpcCall& call) {
  const std::string ip = call.ip.empty() ? ip_of_peer(context.peer()) : std::string(call.ip);
  auto refused =
      limits.decide({.method = "POST", .path = call.method, .user = call.user, .ip = ip});
  if (!refused) return {};
  for (const Field& field : refused->reply.fields) {
    std::string name(field.name);  // HTTP/2 wants small letters
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    context.AddTrailingMetadata(name, field.value);
  }
  auto code = ::grpc::StatusCode::RESOURCE_EXHAUSTED;
  if (refused->why == Why::not_logged_in) code = ::grpc::StatusCode::UNAUTHENTICATED;
  if (refused->why == Why::unavailable) code = ::grpc::StatusCode::UNAVAILABLE;
  return ::grpc::Status(code, refused->reply.body);
}

}  // namespace weir::http
