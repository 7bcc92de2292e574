// Access limits around a handler of cpp-httplib.
#pragma once

#include <httplib.h>

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "weir/http/access_limit.hpp"

namespace weir::http {

/// What a request does not say of who sent it.
struct HttplibVisitor {
  std::function<std::string(const ::httplib::Request&)> user{};  ///< absent: nobody is logged in
  std::function<std::string(const ::httplib::Request&)> ip{};    ///< absent: the peer's address
};

/// The handler behind its limits, which are declared for the pattern that it is given to:
///
///   server.Post("/reply", weir::http::limited(limits, "/reply", reply, {.user = user_of}));
///
/// Threads  any, as the handler
/// Errors   std::invalid_argument where no limit is declared for the pattern: a slip there would
///          be a handler without one. Called: as AccessLimits::decide()
inline ::httplib::Server::Handler limited(AccessLimits limits, std::string pattern,
                                          ::httplib::Server::Handler handler,
                                          HttplibVisitor visitor = {}) {
  if (!limits.has_route(pattern)) {
    throw std::invalid_argument("limited: no access limit is declared for '" + pattern + "'");
  }
  return [limits = std::move(limits), pattern = std::move(pattern), handler = std::move(handler),
          visitor = std::move(visitor)](const ::httplib::Request& request,
                                        ::httplib::Response& response) {
    const std::string user = visitor.user ? visitor.user(request) : std::string();
    const std::string ip = visitor.ip ? visitor.ip(request) : request.remote_addr;
    const auto refused = limits.decide(
        {.method = request.method, .path = request.path, .route = pattern, .user = user, .ip = ip});
    if (!refused) return handler(request, response);
    const Reply& reply = refused->reply;
    response.status = static_cast<int>(reply.status);
    for (const Field& field : reply.fields) {
      response.set_header(std::string(field.name), field.value);
    }
    if (!reply.body.empty()) response.set_content(reply.body, reply.content_type);
  };
}

}  // namespace weir::http
