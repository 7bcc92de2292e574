// A decision as members of a JSON object, named as in the replies of the WEIR commands.
#pragma once

#include <string_view>

#include "weir/vocabulary.hpp"
#include "wire/decision_fields.hpp"
#include "wire/json.hpp"

namespace weir::server {

/// Whole seconds until a refused request would be granted, rounded up; 0 where it was, -1 never.
constexpr std::int64_t retry_after_s(const Decision& decision, Instant now) noexcept {
  if (taken(decision.verdict)) return 0;
  if (decision.verdict == Verdict::impossible) return -1;
  return std::chrono::ceil<std::chrono::seconds>(decision.ready_at - now).count();
}

/// Takes fields as a reply does: a name, then its value.
class JsonFields {
 public:
  explicit JsonFields(wire::Json& object) : object_(object) {}

  void bulk(std::string_view text) {
    if (name_.empty()) {
      name_ = text;
    } else {
      add(text);
    }
  }
  void integer(std::int64_t value) { add(value); }

 private:
  template <typename Value>
  void add(const Value& value) {
    object_.member(name_, value);
    name_ = {};
  }

  wire::Json& object_;
  std::string_view name_;  ///< of the value to come
};

/// "verdict" to "reset_after_us", and "retry_after" in seconds.
inline void add_decision(wire::Json& object, const Decision& decision, Instant now) {
  JsonFields fields(object);
  wire::write_decision(decision, now, fields);
  object.member("retry_after", retry_after_s(decision, now));
}

}  // namespace weir::server
