// What is written, read by a parser of its own.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "test/http/structured_fields.hpp"
#include "weir/http/rate_fields.hpp"

namespace weir::http {
namespace {

/// The same each time; RC_PARAMS in the environment asks for others.
[[maybe_unused]] const int seeded = ::setenv("RC_PARAMS", "seed=20 max_success=1000", 0);

constexpr std::int64_t most = 999'999'999'999'999;

struct Drawn {
  std::vector<std::string> names;
  std::vector<RatePolicy> policies;
  RateStanding standing;
};

std::optional<Span> maybe_span() {
  if (*rc::gen::arbitrary<bool>()) return {};
  return Span{*rc::gen::inRange<std::int64_t>(0, longest_span.count())};
}

Drawn drawn() {
  Drawn all;
  all.names = *rc::gen::nonEmpty(rc::gen::arbitrary<std::vector<std::string>>());
  for (const std::string& name : all.names) {
    all.policies.push_back({.name = name,
                            .quota = *rc::gen::inRange<Cost>(0, most),
                            .window = maybe_span(),
                            .remaining = *rc::gen::inRange<Cost>(0, most),
                            .reset_after = maybe_span()});
  }
  all.standing = {.policies = all.policies,
                  .binding = *rc::gen::inRange<std::size_t>(0, all.policies.size()),
                  .retry_after = maybe_span()};
  return all;
}

std::int64_t integer(const Item& item, const std::string& key) {
  const auto found = item.parameters.find(key);
  return found == item.parameters.end() ? -1 : std::get<std::int64_t>(found->second);
}

RC_GTEST_PROP(RateFieldsProperty, WhatTheDraftsFieldsSayIsWhatWasGiven, ()) {
  const Drawn given = drawn();
  std::vector<Field> fields;
  RateFields::write(RateDialect::ietf, given.standing,
                    [&](Field field) { fields.push_back(field); });
  RC_ASSERT(fields.size() == (given.standing.retry_after ? 3U : 2U));
  const auto policies = StructuredFields::list(fields[0].value);
  const auto left = StructuredFields::list(fields[1].value);
  RC_ASSERT(policies && policies->size() == given.names.size());
  RC_ASSERT(left && left->size() == given.names.size());
  for (std::size_t i = 0; i < given.names.size(); ++i) {
    const Item& policy = (*policies)[i];
    const Item& rest = (*left)[i];
    RC_ASSERT(policy.value == rest.value);
    RC_ASSERT(percent_decoded(std::get<std::string>(policy.value)) == given.names[i]);
    RC_ASSERT(integer(policy, "q") == given.policies[i].quota);
    RC_ASSERT(integer(rest, "r") == given.policies[i].remaining);
    RC_ASSERT((integer(rest, "t") >= 0) == given.policies[i].reset_after.has_value());
    if (const std::int64_t window = integer(policy, "w"); window >= 0) {
      RC_ASSERT(std::chrono::seconds(window) == *given.policies[i].window);
    }
  }
}

RC_GTEST_PROP(RateFieldsProperty, RetryAfterIsNeverEarlierThanTheRefusingPolicysReset, ()) {
  const Drawn given = drawn();
  RC_PRE(given.standing.retry_after.has_value());
  std::vector<Field> fields;
  RateFields::write(RateDialect::ietf, given.standing,
                    [&](Field field) { fields.push_back(field); });
  const auto left = StructuredFields::list(fields[1].value);
  const auto retry = StructuredFields::list(fields[2].value);
  RC_ASSERT(left && retry && retry->size() == 1U);
  const auto after = std::get<std::int64_t>(retry->front().value);
  RC_ASSERT(after >= 1);
  RC_ASSERT(std::chrono::seconds(after) >= *given.standing.retry_after);
  RC_ASSERT(after >= integer((*left)[given.standing.binding], "t"));
}

RC_GTEST_PROP(RateFieldsProperty, Draft03IsAListOfIntegers, ()) {
  const Drawn given = drawn();
  std::vector<Field> fields;
  RateFields::write(RateDialect::draft03, given.standing,
                    [&](Field field) { fields.push_back(field); });
  const auto limits = StructuredFields::list(fields[0].value);
  RC_ASSERT(limits && limits->size() == given.names.size() + 1);
  RC_ASSERT(limits->front().value == BareItem{given.policies[given.standing.binding].quota});
  for (std::size_t i = 0; i < given.names.size(); ++i) {
    const Item& policy = (*limits)[i + 1];
    RC_ASSERT(policy.value == BareItem{given.policies[i].quota});
    const auto& name = std::get<std::string>(policy.parameters.at("name"));
    RC_ASSERT(percent_decoded(name) == given.names[i]);
  }
}

}  // namespace
}  // namespace weir::http
