#include "server/http/json.hpp"

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/value_stack.hpp>
#include <cmath>
#include <utility>
#include <vector>

namespace weir::server {
namespace {

namespace json = boost::json;
using boost::system::error_code;

/// A name or an index as a step of a JSON pointer (RFC 6901), fit for an error of one line.
std::string step(std::string_view name) {
  std::string text = "/";
  for (const char c : name.substr(0, 64)) {
    if (c == '~') {
      text += "~0";
    } else if (c == '/') {
      text += "~1";
    } else {
      text += c >= ' ' && c <= '~' ? c : '?';
    }
  }
  return text;
}

/// Builds the value, and notes what the parser would let pass.
class Builder {
 public:
  static constexpr std::size_t max_array_size = std::size_t(-1);
  static constexpr std::size_t max_object_size = std::size_t(-1);
  static constexpr std::size_t max_string_size = std::size_t(-1);
  static constexpr std::size_t max_key_size = std::size_t(-1);

  explicit Builder(json::storage_ptr memory) { stack_.reset(std::move(memory)); }

  json::value release() { return stack_.release(); }
  const std::string& fault() const noexcept { return fault_; }

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) {
    levels_.push_back({.names_begin = names_.size()});
    return true;
  }
  bool on_object_end(std::size_t count, error_code&) {
    names_.resize(levels_.back().names_begin);
    levels_.pop_back();
    stack_.push_object(count);
    return next();
  }
  bool on_array_begin(error_code&) {
    levels_.push_back({.is_array = true});
    return true;
  }
  bool on_array_end(std::size_t count, error_code&) {
    levels_.pop_back();
    stack_.push_array(count);
    return next();
  }
  bool on_key_part(json::string_view part, std::size_t, error_code&) {
    name_.append(part.data(), part.size());
    return true;
  }
  bool on_key(json::string_view part, std::size_t, error_code& error) {
    name_.append(part.data(), part.size());
    const auto begin = names_.begin() + static_cast<std::ptrdiff_t>(levels_.back().names_begin);
    const bool twice = std::find(begin, names_.end(), name_) != names_.end();
    names_.push_back(std::exchange(name_, {}));
    if (twice) return refuse("expected each name once", error);
    stack_.push_key(names_.back());
    return true;
  }
  bool on_string_part(json::string_view part, std::size_t, error_code&) {
    stack_.push_chars(part);
    return true;
  }
  bool on_string(json::string_view part, std::size_t, error_code&) {
    stack_.push_string(part);
    return next();
  }
  bool on_number_part(json::string_view, error_code&) { return true; }
  bool on_int64(std::int64_t value, json::string_view, error_code&) {
    stack_.push_int64(value);
    return next();
  }
  bool on_uint64(std::uint64_t value, json::string_view, error_code&) {
    stack_.push_uint64(value);
    return next();
  }
  bool on_double(double value, json::string_view, error_code& error) {
    if (!std::isfinite(value)) return refuse("expected a number that a double can hold", error);
    stack_.push_double(value);
    return next();
  }
  bool on_bool(bool value, error_code&) {
    stack_.push_bool(value);
    return next();
  }
  bool on_null(error_code&) {
    stack_.push_null();
    return next();
  }
  bool on_comment_part(json::string_view, error_code&) { return true; }
  bool on_comment(json::string_view, error_code&) { return true; }

 private:
  struct Level {
    bool is_array = false;
    std::size_t index = 0;        ///< of the element to come
    std::size_t names_begin = 0;  ///< in names_
  };

  bool next() {
    if (!levels_.empty()) ++levels_.back().index;
    return true;
  }

  bool refuse(std::string_view what, error_code& error) {
    for (std::size_t at = 0; at < levels_.size(); ++at) {
      const std::size_t names_end = at + 1 < levels_.size() ? end_of_names(at) : names_.size();
      fault_ += levels_[at].is_array ? step(std::to_string(levels_[at].index))
                                     : step(names_[names_end - 1]);
    }
    fault_ += ": " + std::string(what);
    error = json::error::syntax;
    return false;
  }

  /// Of the object at a level, where another object lies below.
  std::size_t end_of_names(std::size_t level) const {
    for (std::size_t at = level + 1; at < levels_.size(); ++at) {
      if (!levels_[at].is_array) return levels_[at].names_begin;
    }
    return names_.size();
  }

  json::value_stack stack_;
  std::vector<Level> levels_;
  std::vector<std::string> names_;  ///< so far, of each object that is not whole
  std::string name_;
  std::string fault_;
};

}  // namespace

std::optional<JsonError> JsonText::read(std::string_view text) {
  json::parse_options options;
  options.max_depth = deepest_json;
  json::basic_parser<Builder> parser(options, json::storage_ptr(&memory_));
  error_code error;
  const std::size_t read = parser.write_some(false, text.data(), text.size(), error);
  if (!parser.handler().fault().empty()) return JsonError{parser.handler().fault()};
  if (!error && read < text.size()) error = json::error::extra_data;
  if (error) {
    return JsonError{"byte " + std::to_string(read) +
                     ": expected one JSON value in UTF-8, at most " + std::to_string(deepest_json) +
                     " deep: " + error.message()};
  }
  value_.emplace(parser.handler().release());
  return {};
}

JsonError JsonPlace::expected(std::string_view what) const {
  return {(pointer_.empty() ? "the body" : pointer_) + ": expected " + std::string(what)};
}

std::optional<JsonError> JsonPlace::check_members(
    std::initializer_list<std::string_view> names) const {
  std::string list;
  for (const std::string_view name : names) {
    list += (list.empty() ? "" : ", ") + std::string(name);
  }
  const json::object* object = value_->if_object();
  if (!object) return expected("an object with " + list);
  for (const auto& member : *object) {
    const std::string_view name(member.key().data(), member.key().size());
    if (std::ranges::find(names, name) == names.end()) {
      return JsonPlace(member.value(), pointer_ + step(name)).expected("none but " + list);
    }
  }
  return {};
}

std::optional<JsonPlace> JsonPlace::member(std::string_view name) const {
  const json::value* found = value_->get_object().if_contains({name.data(), name.size()});
  if (!found) return {};
  return JsonPlace(*found, pointer_ + step(name));
}

Expected<std::size_t, JsonError> JsonPlace::size_of_array(JsonRange range) const {
  const json::array* array = value_->if_array();
  const auto size = array ? static_cast<std::int64_t>(array->size()) : -1;
  if (size >= range.least && size <= range.most) return array->size();
  return expected("an array of " + std::to_string(range.least) + " to " +
                  std::to_string(range.most));
}

JsonPlace JsonPlace::element(std::size_t index) const {
  return {value_->get_array()[index], pointer_ + step(std::to_string(index))};
}

Expected<std::string_view, JsonError> JsonPlace::text() const {
  const json::string* text = value_->if_string();
  if (!text) return expected("a string");
  return std::string_view(text->data(), text->size());
}

Expected<std::string_view, JsonError> JsonPlace::text_of(std::string_view name) const {
  const auto its = member(name);
  return its ? its->text() : std::string_view{};
}

Expected<std::int64_t, JsonError> JsonPlace::whole_number(JsonRange range) const {
  const std::int64_t* number = value_->if_int64();
  if (number && *number >= range.least && *number <= range.most) return *number;
  return expected("a whole number from " + std::to_string(range.least) + " to " +
                  std::to_string(range.most));
}

Expected<bool, JsonError> JsonPlace::truth() const {
  const bool* truth = value_->if_bool();
  if (!truth) return expected("true or false");
  return *truth;
}

}  // namespace weir::server
