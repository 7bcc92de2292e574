// Reading what a YAML map says, word by word.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/yaml.hpp"

namespace weir::gateway {

/// The fields of one map. Whoever reads it asks for all that it may say, then ends with finish().
///
/// Errors   throws FileError with the place, what stands there, and what was expected
class Fields {
 public:
  /// `what` names the map in errors, as "a rule".
  Fields(const YamlNode& map, std::string what);

  /// The field's value; null where it is not there, or says nothing.
  const YamlNode* find(std::string_view name);
  /// The same of one that must be there.
  const YamlNode& need(std::string_view name);

  /// Throws where something stands in the map that was not asked for.
  void finish() const;

  Place place() const noexcept { return map_.at; }

 private:
  [[noreturn]] void unknown(const YamlNode& key, const std::string& meant) const;

  const YamlNode& map_;
  std::string what_;
  std::vector<std::string_view> asked_;
};

/// A single value's text: of `a: 5` as much as of `a: "5"`.
const std::string& text_of(const YamlNode& node, std::string_view field);
/// true or false.
bool truth_of(const YamlNode& node, std::string_view field);

/// Whole numbers, both ends included.
struct Range {
  std::int64_t least;
  std::int64_t most;
};
std::int64_t number_of(const YamlNode& node, std::string_view field, Range range);

/// Its items, or the one that it is.
std::vector<const YamlNode*> items_of(const YamlNode& node);
/// Its items; throws where it is no list.
const std::vector<YamlNode>& list_of(const YamlNode& node, std::string_view field);

/// A map's keys and their values.
struct YamlField {
  const YamlNode& key;
  const YamlNode& value;
};
std::vector<YamlField> entries_of(const YamlNode& node, std::string_view field);

}  // namespace weir::gateway
