#include "gateway/call.hpp"

#include <algorithm>
#include <array>

#include "gateway/suggestion.hpp"
#include "limit/characters.hpp"

namespace weir::gateway {
namespace {

struct Known {
  std::string_view word;
  Attribute::Kind kind;
};
constexpr std::array<Known, 5> plain{{{"ip", Attribute::Kind::ip},
                                      {"user", Attribute::Kind::user},
                                      {"uri", Attribute::Kind::uri},
                                      {"method", Attribute::Kind::method},
                                      {"host", Attribute::Kind::host}}};
constexpr std::array<std::string_view, 7> words{"ip",   "user",    "uri",        "method",
                                                "host", "header.", "descriptor."};
constexpr std::string_view of_header = "header.";
constexpr std::string_view of_descriptor = "descriptor.";

/// A field that is there and empty says nothing.
std::optional<std::string_view> unless_empty(std::optional<std::string_view> value) {
  return value && value->empty() ? std::nullopt : value;
}

}  // namespace

Expected<Attribute, std::string> read_attribute(std::string_view text) {
  for (const Known& known : plain) {
    if (text == known.word) return Attribute{known.kind};
  }
  if (text.starts_with(of_header) && text.size() > of_header.size()) {
    return Attribute{Attribute::Kind::header, in_lower_case(text.substr(of_header.size()))};
  }
  if (text.starts_with(of_descriptor) && text.size() > of_descriptor.size()) {
    return Attribute{Attribute::Kind::descriptor, std::string(text.substr(of_descriptor.size()))};
  }
  return "'" + std::string(text) +
         "' is nothing that a call says; expected ip, user, uri, method, host, header.NAME or "
         "descriptor.KEY" +
         suggestion(text, words);
}

std::string print(const Attribute& attribute) {
  for (const Known& known : plain) {
    if (attribute.kind == known.kind) return std::string(known.word);
  }
  const bool header = attribute.kind == Attribute::Kind::header;
  return std::string(header ? of_header : of_descriptor) + attribute.name;
}

std::optional<std::string_view> value_of(const Attribute& attribute, const Call& call,
                                         const Printing& printing) {
  switch (attribute.kind) {
    case Attribute::Kind::ip:
      if (!call.ip) return {};
      printing.scratch = print(grouped(*call.ip, printing.grouping));
      return printing.scratch;
    case Attribute::Kind::user: return unless_empty(call.user);
    case Attribute::Kind::uri: return call.uri;
    case Attribute::Kind::method: return call.method;
    case Attribute::Kind::host: return call.host;
    case Attribute::Kind::header:
      for (const Header& header : call.headers) {
        if (header.name == attribute.name) return unless_empty(header.value);
      }
      return {};
    case Attribute::Kind::descriptor:
      for (const Entry& entry : call.descriptor) {
        if (entry.key == attribute.name) return entry.value;
      }
      return {};
  }
  return {};
}

}  // namespace weir::gateway
