// Access limits before a handler of Boost.Beast.
#pragma once

#include <boost/beast/http/field.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/verb.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "weir/http/access_limit.hpp"
#include "weir/http/path.hpp"

namespace weir::http {

/// What a request does not say of who sent it.
struct BeastVisitor {
  std::string_view user{};   ///< who is logged in; empty: nobody
  std::string_view ip{};     ///< the socket's remote address, or what a proxy you trust says
  std::string_view route{};  ///< the handler, as your router names it; empty: the request's path
};

/// The response in the handler's place; none where the handler is to be run.
///
///   if (auto refused = weir::http::refusal(limits, request, {.user = user, .ip = address})) {
///     return *std::move(refused);
///   }
///
/// Threads  any
/// Errors   as AccessLimits::decide()
template <typename Body, typename Fields>
std::optional<boost::beast::http::response<boost::beast::http::string_body>> refusal(
    const AccessLimits& limits, const boost::beast::http::request<Body, Fields>& request,
    const BeastVisitor& visitor) {
  namespace beast = boost::beast::http;
  const std::string path = path_of({request.target().data(), request.target().size()});
  auto refused =
      limits.decide({.method = {request.method_string().data(), request.method_string().size()},
                     .path = path,
                     .route = visitor.route,
                     .user = visitor.user,
                     .ip = visitor.ip});
  if (!refused) return {};

  Reply& reply = refused->reply;
  beast::response<beast::string_body> response;
  response.version(request.version());
  response.result(reply.status);
  response.keep_alive(request.keep_alive());
  if (!reply.content_type.empty()) response.set(beast::field::content_type, reply.content_type);
  for (const Field& field : reply.fields) {
    response.insert({field.name.data(), field.name.size()}, field.value);
  }
  response.body() = std::move(reply.body);
  response.prepare_payload();
  // The length of what GET would be answered, and no body (RFC 9110, 9.3.2).
  if (request.method() == beast::verb::head) response.body().clear();
  return response;
}

}  // namespace weir::http
