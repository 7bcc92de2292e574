#include "server/gateway/dynamic_metadata.hpp"

#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace weir::server {
namespace {

using gateway::YamlNode;
using google::protobuf::Struct;
using google::protobuf::Value;

/// As Go prints the message.
std::string print(const grpc::RateLimitOverride& limit) {
  constexpr std::array<const char*, 8> units{"UNKNOWN", "SECOND", "MINUTE", "HOUR",
                                             "DAY",     "MONTH",  "YEAR",   "WEEK"};
  return "requests_per_unit:" + std::to_string(limit.requests_per_unit) +
         " unit:" + units[static_cast<std::size_t>(limit.unit)];
}

/// Of a scalar that no quotation marks make text.
std::optional<double> number_of(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return {};
  }
  if (text.find_first_not_of("0123456789.eE+-") != std::string_view::npos) return {};
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

void write_scalar(const YamlNode& node, Value& to) {
  const std::string& text = node.text;
  const bool yes = text == "true" || text == "True" || text == "TRUE";
  const bool no = text == "false" || text == "False" || text == "FALSE";
  if (!node.quoted && (yes || no)) return to.set_bool_value(yes);
  const auto number = node.quoted ? std::nullopt : number_of(text);
  if (number) return to.set_number_value(*number);
  to.set_string_value(text);
}

void write(const YamlNode& node, Value& to) {
  switch (node.kind) {
    case YamlNode::Kind::null: return to.set_null_value(google::protobuf::NULL_VALUE);
    case YamlNode::Kind::scalar: return write_scalar(node, to);
    case YamlNode::Kind::list: {
      auto& list = *to.mutable_list_value();
      for (const YamlNode& item : node.children) write(item, *list.add_values());
      return;
    }
    case YamlNode::Kind::map: {
      auto& fields = *to.mutable_struct_value()->mutable_fields();
      for (std::size_t at = 0; at < node.children.size(); at += 2) {
        write(node.children[at + 1], fields[node.children[at].text]);
      }
      return;
    }
  }
}

void merge(const YamlNode& map, Struct& into) {
  auto& fields = *into.mutable_fields();
  for (std::size_t at = 0; at < map.children.size(); at += 2) {
    const YamlNode& value = map.children[at + 1];
    const auto [field, fresh] = fields.insert({map.children[at].text, Value()});
    if (fresh) {
      write(value, field->second);
    } else if (value.kind == YamlNode::Kind::map && field->second.has_struct_value()) {
      merge(value, *field->second.mutable_struct_value());
    }
  }
}

}  // namespace

std::shared_ptr<Struct> metadata_of(const grpc::RateLimitAsk& ask) {
  auto told = std::make_shared<Struct>();
  auto& fields = *told->mutable_fields();
  fields["domain"].set_string_value(std::string(ask.domain));
  if (ask.hits > 1) fields["hitsAddend"].set_number_value(ask.hits);
  auto& descriptors = *fields["descriptors"].mutable_list_value();
  for (const grpc::RateLimitDescriptor& descriptor : ask.descriptors) {
    auto& of = *descriptors.add_values()->mutable_struct_value()->mutable_fields();
    auto& entries = *of["entries"].mutable_list_value();
    for (const grpc::RateLimitEntry& entry : descriptor.entries) {
      entries.add_values()->set_string_value(std::string(entry.key) + '=' +
                                             std::string(entry.value));
    }
    if (descriptor.limit) of["limit"].set_string_value(print(*descriptor.limit));
    if (descriptor.hits) of["hitsAddend"].set_number_value(static_cast<double>(*descriptor.hits));
  }
  return told;
}

void add_metadata(const GateAnswer& answer, Struct& told) {
  Struct passed;
  for (const Judged& judged : answer.judged) {
    if (!judged.refuses || judged.rule->shadow) merge(judged.rule->metadata, passed);
  }
  if (!passed.fields().empty()) {
    *(*told.mutable_fields())["metadata"].mutable_struct_value() = std::move(passed);
  }
}

}  // namespace weir::server
