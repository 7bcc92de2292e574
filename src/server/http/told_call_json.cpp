#include "server/http/told_call_json.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::server {
namespace {

using gateway::ToldCall;

constexpr JsonRange pairs{0, 64};

/// An array of objects with two texts each, or nothing.
struct PairWords {
  std::string_view list;
  std::string_view name;
};
Expected<std::vector<ToldCall::Pair>, JsonError> read_pairs(const JsonPlace& body,
                                                            const PairWords& words) {
  std::vector<ToldCall::Pair> read;
  const auto list = body.member(words.list);
  if (!list) return read;
  const auto size = list->size_of_array(pairs);
  if (!size) return size.error();
  for (std::size_t at = 0; at < *size; ++at) {
    const JsonPlace element = list->element(at);
    if (auto wrong = element.check_members({words.name, "value"})) return *std::move(wrong);
    const auto name = element.text_of(words.name);
    const auto value = element.text_of("value");
    if (!name) return name.error();
    if (!value) return value.error();
    if (name->empty()) {
      return element.expected("an object with \"" + std::string(words.name) + "\" and \"value\"");
    }
    read.push_back({std::string(*name), std::string(*value)});
  }
  return read;
}

}  // namespace

Expected<ToldCall, JsonError> read_told_call(const JsonPlace& body) {
  ToldCall told;
  for (const auto& [name, text] : {std::pair{"method", &told.method}, std::pair{"uri", &told.uri},
                                   std::pair{"host", &told.host}, std::pair{"user", &told.user}}) {
    const auto read = body.text_of(name);
    if (!read) return read.error();
    *text = *read;
  }
  if (const auto member = body.member("ip")) {
    const auto text = member->text();
    if (!text) return text.error();
    const auto ip = gateway::parse_address(*text);
    if (!ip) {
      return member->expected(std::string(ip.error().expected) + " in column " +
                              std::to_string(ip.error().column));
    }
    told.ip = *ip;
  }
  auto headers = read_pairs(body, {"headers", "name"});
  if (!headers) return headers.error();
  told.headers = std::move(headers).value();
  auto entries = read_pairs(body, {"entries", "key"});
  if (!entries) return entries.error();
  told.entries = std::move(entries).value();
  return told;
}

}  // namespace weir::server
