#include "gateway/yaml.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

namespace weir::gateway {
namespace {

Place place_of(const YAML::Mark& mark) {
  if (mark.is_null()) return {};
  return {static_cast<std::size_t>(mark.line) + 1, static_cast<std::size_t>(mark.column) + 1};
}

/// Words that stand for nothing in YAML's core schema.
bool is_null_word(std::string_view text) {
  return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL";
}

/// Builds the tree. Throws FileError, which passes through the parser.
class Builder final : public YAML::EventHandler {
 public:
  explicit Builder(const YamlLimits& limits) : limits_(limits) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) throw FileError{place_of(mark), "a second document; expected one"};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    put({.kind = YamlNode::Kind::null, .at = place_of(mark)}, anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto known = anchored_.find(anchor);
    if (known == anchored_.end()) {
      throw FileError{place_of(mark), "an alias of what it is itself a part of"};
    }
    count(size(known->second), place_of(mark));
    if (open_.size() + depth(known->second) > limits_.depth) too_deep(place_of(mark));
    YamlNode copy = known->second;
    copy.at = place_of(mark);
    add(std::move(copy));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    // The parser tags what stands in quotation marks "!", and what does not "?".
    const bool quoted = tag != "?";
    if (tag.size() > 1) refuse_tag(mark, tag);
    if (value.find('\0') != std::string::npos) {
      throw FileError{place_of(mark), "a NUL byte in a text"};
    }
    if (!quoted && is_null_word(value)) return OnNull(mark, anchor);
    put({.kind = YamlNode::Kind::scalar, .quoted = quoted, .at = place_of(mark), .text = value},
        anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::list, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::map, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

  YamlNode take() { return std::move(root_); }

 private:
  struct Open {
    YamlNode node;
    YAML::anchor_t anchor;
    std::map<std::string, std::size_t> keys{};  ///< of a map, and their lines
  };

  static std::size_t size(const YamlNode& node) {
    std::size_t total = 1;
    for (const YamlNode& child : node.children) total += size(child);
    return total;
  }

  static std::size_t depth(const YamlNode& node) {
    std::size_t deepest = 0;
    for (const YamlNode& child : node.children) deepest = std::max(deepest, depth(child));
    return deepest + 1;
  }

  static void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    throw FileError{place_of(mark), "the tag " + tag + "; expected a value without one"};
  }

  void too_deep(Place at) const {
    throw FileError{at, "nested deeper than " + std::to_string(limits_.depth) + " levels"};
  }

  void count(std::size_t nodes, Place at) {
    nodes_ += nodes;
    if (nodes_ > limits_.nodes) {
      throw FileError{at, "more than " + std::to_string(limits_.nodes) + " values in one file"};
    }
  }

  void open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    if (tag.size() > 1) refuse_tag(mark, tag);
    if (open_.size() >= limits_.depth) too_deep(place_of(mark));
    count(1, place_of(mark));
    open_.push_back({{.kind = kind, .at = place_of(mark)}, anchor});
  }

  void close() {
    Open closed = std::move(open_.back());
    open_.pop_back();
    if (closed.anchor != YAML::NullAnchor) anchored_[closed.anchor] = closed.node;
    add(std::move(closed.node));
  }

  void put(YamlNode node, YAML::anchor_t anchor) {
    count(1, node.at);
    if (anchor != YAML::NullAnchor) anchored_[anchor] = node;
    add(std::move(node));
  }

  void add(YamlNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    YamlNode& parent = open_.back().node;
    if (parent.kind == YamlNode::Kind::map && parent.children.size() % 2 == 0) check_key(node);
    parent.children.push_back(std::move(node));
  }

  /// Requires that a map is open and awaits a key.
  void check_key(const YamlNode& key) {
    if (key.kind != YamlNode::Kind::scalar) {
      throw FileError{key.at, std::string("a key that is ") + name(key.kind) + "; expected a word"};
    }
    const auto [known, first] = open_.back().keys.emplace(key.text, key.at.line);
    if (!first) {
      throw FileError{key.at, "the key '" + key.text + "' stands in this map already, in line " +
                                  std::to_string(known->second)};
    }
  }

  YamlLimits limits_;
  YamlNode root_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, YamlNode> anchored_;
  std::size_t nodes_ = 0;
  std::size_t documents_ = 0;
};

constexpr const char* indented_by_tab = "; the line begins with a tab, expected spaces";

/// Whether there is one in what indents the line, counted from 1.
bool begins_with_a_tab(std::string_view text, std::size_t line) {
  for (; line > 1; --line) {
    const std::size_t end = text.find('\n');
    if (end == text.npos) return false;
    text.remove_prefix(end + 1);
  }
  const std::string_view indent = text.substr(0, text.find_first_not_of(" \t"));
  return indent.find('\t') != indent.npos;
}

}  // namespace

std::string told(const std::string& file, const FileError& error) {
  if (error.at.line == 0) return file + ": " + error.message;
  return file + ':' + std::to_string(error.at.line) + ':' + std::to_string(error.at.column) + ": " +
         error.message;
}

const char* name(YamlNode::Kind kind) noexcept {
  constexpr const char* names[] = {"nothing", "a single value", "a list", "a map"};
  return names[static_cast<std::uint8_t>(kind)];
}

Expected<YamlNode, FileError> read_yaml(std::string_view text, const YamlLimits& limits) {
  if (text.size() > limits.bytes) {
    return FileError{{}, "longer than " + std::to_string(limits.bytes) + " bytes"};
  }
  try {
    std::istringstream input{std::string(text)};
    YAML::Parser parser(input);
    Builder builder(limits);
    while (parser.HandleNextDocument(builder)) {
    }
    return builder.take();
  } catch (const FileError& error) {
    return error;
  } catch (const YAML::Exception& error) {
    const Place at = place_of(error.mark);
    return FileError{at, error.msg + (begins_with_a_tab(text, at.line) ? indented_by_tab : "")};
  }
}

}  // namespace weir::gateway
