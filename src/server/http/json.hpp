// JSON that clients send: read strictly, refused with the place and what was expected there.
#pragma once

#include <array>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "weir/vocabulary.hpp"

namespace weir::server {

/// Where in a text, as a JSON pointer or a byte, and what was expected there.
struct JsonError {
  std::string message;
};

inline constexpr std::size_t deepest_json = 16;

/// One JSON text and the memory of its values.
///
/// Errors   a text that is not one JSON value in UTF-8: deeper than deepest_json, a name twice in
///          an object, a number that no double holds, half a surrogate pair, anything behind it
class JsonText {
 public:
  /// Reads `text`; an error where it is none. Once.
  std::optional<JsonError> read(std::string_view text);

  /// Requires that read() found no error.
  const boost::json::value& value() const noexcept { return *value_; }

 private:
  std::array<unsigned char, 2048> at_hand_;
  boost::json::monotonic_resource memory_{at_hand_.data(), at_hand_.size()};
  std::optional<boost::json::value> value_;
};

/// Smallest and largest.
struct JsonRange {
  std::int64_t least;
  std::int64_t most;
};

/// A value and where it stands.
class JsonPlace {
 public:
  JsonPlace(const boost::json::value& value, std::string pointer)
      : value_(&value), pointer_(std::move(pointer)) {}

  const std::string& pointer() const noexcept { return pointer_; }

  /// "/requests/3/cost: expected <what>".
  JsonError expected(std::string_view what) const;

  /// The object's members; an error for one that is not named here.
  std::optional<JsonError> check_members(std::initializer_list<std::string_view> names) const;
  /// Requires an object; none where it has no such member.
  std::optional<JsonPlace> member(std::string_view name) const;
  /// The elements of an array of so many.
  Expected<std::size_t, JsonError> size_of_array(JsonRange range) const;
  /// Requires an array with that element.
  JsonPlace element(std::size_t index) const;

  Expected<std::string_view, JsonError> text() const;
  /// Of a member of an object; empty where there is none.
  Expected<std::string_view, JsonError> text_of(std::string_view name) const;
  Expected<std::int64_t, JsonError> whole_number(JsonRange range) const;
  Expected<bool, JsonError> truth() const;
  bool is_null() const noexcept { return value_->is_null(); }

 private:
  const boost::json::value* value_;
  std::string pointer_;
};

}  // namespace weir::server
