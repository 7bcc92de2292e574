#include "server/http/for_programs.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "limit/characters.hpp"

namespace weir::server {
namespace {

constexpr std::string_view json = "application/json";

bool is_json(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (type.ends_with(' ') || type.ends_with('\t')) type.remove_suffix(1);
  return std::ranges::equal(type, json, {}, small);
}

std::optional<HttpAnswer> refusal(const HttpRequest& request) {
  // An image of a page sends no Origin, but what it is to the page. Whoever types an address is
  // "none".
  const std::string_view site = request.field("sec-fetch-site");
  if (!request.field("origin").empty() || (!site.empty() && site != "none")) {
    return problem(403,
                   "a page in a browser may not ask this; expected a request without Origin, "
                   "from a program");
  }
  if (!request.body.empty() && !is_json(request.field("content-type"))) {
    return problem(415, "expected Content-Type: application/json, as curl --json sends");
  }
  return {};
}

}  // namespace

HttpHandler for_programs(HttpHandler handler) {
  return [handler = std::move(handler)](const HttpRequest& request, HttpReply& reply) {
    if (const auto refused = refusal(request)) return reply.send(*refused);
    handler(request, reply);
  };
}

}  // namespace weir::server
