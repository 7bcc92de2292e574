#include "gateway/told_call.hpp"

#include <string_view>

#include "gateway/route.hpp"
#include "limit/characters.hpp"

namespace weir::gateway {
namespace {

std::optional<std::string_view> unless_empty(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional<std::string_view>(text);
}

}  // namespace

Call ToldCall::call(const Clients& clients) {
  header_views_.clear();
  entry_views_.clear();
  for (Pair& header : headers) {
    header.name = in_lower_case(header.name);
    header_views_.push_back({header.name, header.value});
  }
  for (const Pair& entry : entries) entry_views_.push_back({entry.name, entry.value});
  Call told{.method = unless_empty(method),
            .user = unless_empty(user),
            .ip = ip,
            .headers = header_views_,
            .descriptor = entry_views_};
  if (!host.empty()) told.host = host_of(host, lower_host_);
  if (!uri.empty()) {
    route_ = route_of(uri);
    told.uri = route_;
  }
  for (const Header& header : header_views_) {
    if (!told.user && header.name == clients.user_header) told.user = header.value;
  }
  return told;
}

}  // namespace weir::gateway
