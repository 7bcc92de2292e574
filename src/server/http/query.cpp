#include "server/http/query.hpp"

#include <algorithm>

namespace weir::server {
namespace {

constexpr std::size_t most_members = 16;

int digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> decoded(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '+') {
      plain += ' ';
    } else if (text[at] != '%') {
      plain += text[at];
    } else {
      const int high = at + 2 < text.size() ? digit(text[at + 1]) : -1;
      const int low = at + 2 < text.size() ? digit(text[at + 2]) : -1;
      if (high < 0 || low < 0) return {};
      plain += static_cast<char>(high * 16 + low);
      at += 2;
    }
  }
  return plain;
}

}  // namespace

Expected<QueryMembers, QueryError> read_query(std::string_view query) {
  QueryMembers members;
  while (!query.empty()) {
    const std::string_view member = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), member.size() + 1));
    if (member.empty()) continue;
    if (members.size() == most_members) {
      return QueryError{"query: expected at most " + std::to_string(most_members) + " members"};
    }
    const std::size_t equals = member.find('=');
    auto name = decoded(member.substr(0, equals));
    auto value = decoded(equals == std::string_view::npos ? "" : member.substr(equals + 1));
    if (!name || !value) return QueryError{"query: expected two hexadecimal digits behind each %"};
    if (std::ranges::find(members, *name, &QueryMembers::value_type::first) != members.end()) {
      return QueryError{"query: expected each name once"};
    }
    members.emplace_back(*std::move(name), *std::move(value));
  }
  return members;
}

}  // namespace weir::server
