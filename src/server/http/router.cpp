#include "server/http/router.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace weir::server {
namespace {

/// Those of RFC 9110 and PATCH: they are refused where a path has others.
constexpr std::array<std::string_view, 9> known_methods{
    "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"};

}  // namespace

void Router::add(HttpRoute route, HttpHandler handler) {
  entries_.push_back({route, std::move(handler)});
}

void Router::route(const HttpRequest& request, HttpReply& reply) const {
  const std::string_view method = request.method == "HEAD" ? "GET" : request.method;
  for (const Entry& entry : entries_) {
    const HttpRoute& route = entry.route;
    if (route.path == request.path && (route.method == method || route.method == any_method)) {
      return entry.handler(request, reply);
    }
  }
  reply.send(refusal(request));
}

/// "GET, HEAD, OPTIONS"; empty where nothing is at the path.
std::string Router::methods_of(std::string_view path) const {
  std::string methods;
  for (const auto& [route, handler] : entries_) {
    if (route.path != path && path != "*") continue;
    if (route.method == any_method) continue;
    if (methods.find(route.method) != std::string::npos) continue;
    methods += std::string(route.method) + (route.method == "GET" ? ", HEAD, " : ", ");
  }
  return methods.empty() ? methods : methods + "OPTIONS";
}

HttpAnswer Router::refusal(const HttpRequest& request) const {
  if (std::ranges::find(known_methods, request.method) == known_methods.end()) {
    return problem(501, "expected a method such as GET or POST");
  }
  const std::string methods = methods_of(request.path);
  if (methods.empty()) {
    std::string paths;
    for (const auto& [route, handler] : entries_) {
      paths +=
          (paths.empty() ? "" : ", ") + std::string(route.method) + ' ' + std::string(route.path);
    }
    return problem(404, "here are " + paths);
  }
  HttpAnswer answer;
  answer.status = 204;
  if (request.method != "OPTIONS") answer = problem(405, "expected one of " + methods);
  answer.fields = "Allow: " + methods + "\r\n";
  return answer;
}

}  // namespace weir::server
