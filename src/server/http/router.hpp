// Which handler answers which request.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/http_reply.hpp"

namespace weir::server {

/// Answers one request: reply.send() before it returns, or reply.later().
using HttpHandler = std::function<void(const HttpRequest&, HttpReply&)>;

/// The method of a route that answers all of them, those that nobody has heard of too.
inline constexpr std::string_view any_method = "*";

/// A method and a path, exact to the byte. A GET answers HEAD too.
struct HttpRoute {
  std::string_view method;
  std::string_view path;
};

/// A small table of handlers.
///
/// Threads  route() from any, once complete
/// Errors   404 names the paths; 405 and OPTIONS name the methods; 501 a method nobody has heard of
class Router {
 public:
  void add(HttpRoute route, HttpHandler handler);

  void route(const HttpRequest& request, HttpReply& reply) const;

 private:
  struct Entry {
    HttpRoute route;
    HttpHandler handler;
  };

  std::string methods_of(std::string_view path) const;
  HttpAnswer refusal(const HttpRequest& request) const;

  std::vector<Entry> entries_;
};

}  // namespace weir::server
