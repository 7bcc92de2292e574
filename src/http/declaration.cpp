#include "http/declaration.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace weir::http {
namespace {

using Complaint = std::optional<std::string>;

bool is_capital(char c) noexcept { return (c >= 'A' && c <= 'Z') || c == '-'; }

bool is_control(char c) noexcept { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }

Complaint wrong_name(const AccessLimit& declared) {
  if (!std::all_of(declared.method.begin(), declared.method.end(), is_capital)) {
    return "method: expected one in capitals, as GET, or none for any";
  }
  const std::string& path = declared.path;
  if (path.empty()) return "path: expected the handler's route, as the router names it";
  if (path.size() > AccessLimits::longest_key / 2) {
    return "path: " + std::to_string(path.size()) + " bytes; expected " +
           std::to_string(AccessLimits::longest_key / 2) + " at most";
  }
  return {};
}

/// A line end in a field would begin another field.
Complaint wrong_reply(std::string_view which, const Reply& reply) {
  const std::string place(which);
  if (reply.status < 200 || reply.status > 599) {
    return place + ": status " + std::to_string(reply.status) + "; expected 200 to 599";
  }
  if (reply.content_type.empty() != reply.body.empty()) {
    return place + ": expected a content_type with a body, and none without";
  }
  const auto unclean = [](std::string_view text) {
    return std::any_of(text.begin(), text.end(), is_control);
  };
  if (unclean(reply.content_type)) return place + ": content_type: expected one line of text";
  for (const Field& field : reply.fields) {
    if (field.name.empty() || unclean(field.name) || unclean(field.value)) {
      return place + ": fields: expected names and values of one line of text each";
    }
  }
  return {};
}

/// As a text, for one way of reading both forms; its errors name what was declared.
Expected<Limit, std::string> counted_limit(const AccessLimit& declared) {
  if (declared.max_count <= 0) {
    return "max_count " + std::to_string(declared.max_count) + ": expected one or more";
  }
  if (declared.within.count() <= 0) {
    return "within " + std::to_string(declared.within.count()) + " s: expected one second or more";
  }
  auto limit = Limit::parse("sliding-log " + std::to_string(declared.max_count) + "/" +
                            std::to_string(declared.within.count()) + "s");
  if (limit) return std::move(limit).value();
  return "max_count " + std::to_string(declared.max_count) + " within " +
         std::to_string(declared.within.count()) + " s: " + limit.error().message;
}

Expected<Limit, std::string> written_limit(const AccessLimit& declared) {
  auto limit = Limit::parse(declared.limit);
  if (!limit) {
    return "limit, column " + std::to_string(limit.error().column) + ": " + limit.error().message;
  }
  if (!limit->starts_full()) {
    return std::string("limit: every key must start full, so 'initial' has no place here");
  }
  if (limit->permit_term()) {
    return std::string("limit: a handler's end is not told here, so 'concurrency' has no place");
  }
  return std::move(limit).value();
}

}  // namespace

std::string name_of(const AccessLimit& declared) {
  return (declared.method.empty() ? "any" : declared.method) + " " + declared.path;
}

Expected<Limit, std::string> limit_of(const AccessLimit& declared) {
  if (auto complaint = wrong_name(declared)) return *std::move(complaint);
  if (auto complaint = wrong_reply("answer", declared.answer)) return *std::move(complaint);
  if (auto complaint = wrong_reply("login_answer", declared.login_answer)) {
    return *std::move(complaint);
  }
  if (auto complaint = wrong_reply("unavailable_answer", declared.unavailable_answer)) {
    return *std::move(complaint);
  }
  const bool counted = declared.max_count != 0 || declared.within.count() != 0;
  if (counted == !declared.limit.empty()) {
    return std::string("expected max_count and within, or a limit, and not both");
  }
  return counted ? counted_limit(declared) : written_limit(declared);
}

}  // namespace weir::http
