// envoyproxy/ratelimit's files.
#include <algorithm>
#include <array>
#include <utility>

#include "gateway/rule_file.hpp"
#include "gateway/suggestion.hpp"
#include "limit/characters.hpp"

namespace weir::gateway {
namespace {

[[noreturn]] void fail(const YamlNode& node, std::string message) {
  throw FileError{node.at, std::move(message)};
}

struct Unit {
  std::string_view word;
  std::string_view period;  ///< its windows begin at whole multiples since 1970, weeks on Thursdays
};
constexpr std::array<Unit, 7> units{{{"second", "1s"},
                                     {"minute", "1m"},
                                     {"hour", "1h"},
                                     {"day", "1d"},
                                     {"week", "7d"},
                                     {"month", "30d"},
                                     {"year", "365d"}}};

std::string_view period_of(const YamlNode& node) {
  const std::string word = in_lower_case(text_of(node, "unit"));
  std::vector<std::string_view> words;
  for (const Unit& unit : units) {
    if (unit.word == word) return unit.period;
    words.push_back(unit.word);
  }
  fail(node, "unit is '" + node.text.substr(0, 64) +
                 "'; expected second, minute, hour, day, week, month or year" +
                 suggestion(word, words));
}

/// Where a file says "algorithm: token-bucket burst 200", the count and the unit stand behind the
/// first word.
Limit limit_of(const YamlNode& rate, std::int64_t count, const YamlNode& unit,
               const YamlNode* algorithm) {
  const std::string words = algorithm ? text_of(*algorithm, "algorithm") : "fixed-window";
  const std::size_t space = std::min(words.find(' '), words.size());
  const std::string numbers = ' ' + std::to_string(count) + '/' + std::string(period_of(unit));
  auto limit = Limit::parse(words.substr(0, space) + numbers + words.substr(space));
  if (!limit) fail(algorithm ? *algorithm : rate, "algorithm: " + limit.error().message);
  if (!limit->starts_full()) fail(*algorithm, "algorithm: a key must start full, without initial");
  return std::move(limit).value();
}

Quota quota_of(Fields& fields, const YamlNode& rate) {
  const YamlNode* const unlimited = fields.find("unlimited");
  const YamlNode* const unit = fields.find("unit");
  const YamlNode* const count = fields.find("requests_per_unit");
  const YamlNode* const algorithm = fields.find("algorithm");
  if (unlimited && truth_of(*unlimited, "unlimited")) {
    if (unit) fail(*unit, "a unit beside unlimited; expected one of the two");
    return {.kind = Quota::Kind::unlimited};
  }
  if (!unit) fail(rate, "rate_limit needs the field 'unit'");
  const std::int64_t most = count ? number_of(*count, "requests_per_unit", {0, UINT32_MAX}) : 0;
  if (most == 0) {
    static_cast<void>(period_of(*unit));
    return {.kind = Quota::Kind::blocked};
  }
  return {.limit = limit_of(rate, most, *unit, algorithm)};
}

/// Answers carry it, so it is bounded: its depth, and its bytes with 16 a node.
void check_metadata(const YamlNode& metadata) {
  constexpr std::size_t most_depth = 16;
  constexpr std::size_t most_bytes = 4096;
  static_cast<void>(entries_of(metadata, "metadata"));
  std::size_t bytes = 0;
  const auto add = [&](const auto& self, const YamlNode& node, std::size_t depth) -> void {
    bytes += node.text.size() + 16;
    if (depth > most_depth) fail(node, "metadata is nested more than 16 deep");
    if (bytes > most_bytes) fail(metadata, "metadata is larger than 4 KiB; expected less");
    for (const YamlNode& child : node.children) self(self, child, depth + 1);
  };
  add(add, metadata, 1);
}

void read_rate_limit(const YamlNode& rate, EdgeRule& rule) {
  Fields fields(rate, "rate_limit");
  rule.quota = quota_of(fields, rate);
  read_lease(fields, rule);
  if (const auto* at = fields.find("name")) rule.name = text_of(*at, "name");
  if (const auto* at = fields.find("replaces")) {
    for (const YamlNode& item : list_of(*at, "replaces")) {
      Fields replaced(item, "an item of replaces");
      const YamlNode& name = replaced.need("name");
      if (text_of(name, "name").empty()) fail(name, "name is empty; expected that of a rate_limit");
      if (name.text == rule.name) fail(name, "a rate_limit that replaces itself");
      rule.replaces.push_back(name.text);
      replaced.finish();
    }
  }
  fields.finish();
}

/// Builds one domain.
class Reader {
 public:
  explicit Reader(Domain& domain) : domain_(domain) {}

  /// What a node's descendants go on from.
  struct Path {
    DescriptorTree::Index node = 0;
    std::string identity{};
    std::string label{};
  };

  void descriptors(const YamlNode& node, const Path& parent) {
    for (const YamlNode& item : list_of(node, "descriptors")) descriptor(item, parent);
  }

 private:
  void descriptor(const YamlNode& node, const Path& parent) {
    Fields fields(node, "a descriptor");
    const YamlNode& key = fields.need("key");
    const YamlNode* const value_node = fields.find("value");
    const std::string value = value_node ? text_of(*value_node, "value") : "";
    if (text_of(key, "key").empty()) fail(key, "key is empty; expected that of an entry");
    const bool wild = value.find('*') != std::string::npos;
    if (wild && value.size() > DescriptorTree::longest_wild) {
      fail(*value_node, "value has a '*' and " + std::to_string(value.size()) +
                            " bytes; expected " + std::to_string(DescriptorTree::longest_wild) +
                            " at most");
    }
    const Path path = step(node, parent, {key.text, value});

    EdgeRule rule;
    rule.at = node.at;
    if (const auto* at = fields.find("shadow_mode")) rule.shadow = truth_of(*at, "shadow_mode");
    if (const auto* at = fields.find("quota_mode")) rule.quota_mode = truth_of(*at, "quota_mode");
    if (const auto* at = fields.find("share_threshold")) {
      rule.share_threshold = truth_of(*at, "share_threshold");
      if (rule.share_threshold && !wild) fail(*at, "share_threshold is for a value with a '*'");
    }
    // Values never become labels of metrics here: these two are read and change nothing.
    for (const char* name : {"detailed_metric", "value_to_metric"}) {
      if (const auto* at = fields.find(name)) static_cast<void>(truth_of(*at, name));
    }
    if (const auto* at = fields.find("metadata")) {
      check_metadata(*at);
      rule.metadata = *at;
    }
    if (const auto* rate = fields.find("rate_limit")) {
      read_rate_limit(*rate, rule);
      rule.identity = path.identity;
      rule.label = path.label;
      domain_.tree.set_rule(path.node, domain_.rules.size());
      domain_.rules.push_back(std::move(rule));
    }
    if (const auto* at = fields.find("descriptors")) descriptors(*at, path);
    fields.finish();
  }

  Path step(const YamlNode& node, const Path& parent, const DescriptorTree::Step& entry) {
    const auto child = domain_.tree.add(parent.node, entry);
    if (!child) {
      fail(node, "the descriptor " + std::string(entry.key) +
                     (entry.value.empty() ? "" : " with value ") + std::string(entry.value) +
                     " stands at this level already");
    }
    Path path{*child, parent.identity, parent.label};
    if (!path.identity.empty()) path.identity += '/', path.label += '.';
    append_escaped(path.identity, entry.key, reserved_in_identities);
    path.label += entry.key;
    if (!entry.value.empty()) {
      path.identity += '=';
      append_escaped(path.identity, entry.value, reserved_in_identities);
      path.label += '_' + std::string(entry.value);
    }
    return path;
  }

  Domain& domain_;
};

}  // namespace

Domain read_envoy_file(const YamlNode& root) {
  Fields fields(root, "a rate limit file");
  Domain domain;
  domain.of_envoy = true;
  domain.dialect = http::RateDialect::none;
  domain.clients = usual_clients();
  const YamlNode& name = fields.need("domain");
  domain.name = text_of(name, "domain");
  domain.at = name.at;
  if (domain.name.empty()) fail(name, "domain is empty; expected a name");
  read_answers(fields, domain);
  if (const auto* at = fields.find("descriptors")) Reader(domain).descriptors(*at, {});
  fields.finish();
  return domain;
}

}  // namespace weir::gateway
