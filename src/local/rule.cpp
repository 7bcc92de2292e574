#include "weir/local/rule.hpp"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

bool fits_a_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == ':';
}

constexpr std::string_view not_full =
    "initial is for a single limiter; a key must start full, or dropping it would change answers";

std::size_t column_of(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  return at == std::string_view::npos ? 1 : at + 1;
}

}  // namespace

Rules::Rules() : redis_cell_(keep("CL.THROTTLE", Limit::parse("1/s").value(), false)) {}

const Rule* Rules::keep(std::string_view name, Limit limit, bool named, const Rule* first) {
  const auto id = static_cast<std::uint32_t>(rules_.size());
  auto made = std::make_unique<Rule>(Rule{id, std::string(name), std::move(limit), named});
  if (first) made->family = first->family;
  std::unique_ptr<const Rule> rule = std::move(made);
  const Rule* const kept = rule.get();
  rules_.push_back(std::move(rule));
  try {
    by_name_[(named ? "@" : "") + std::string(name)] = kept;
  } catch (...) {
    rules_.pop_back();
    throw;
  }
  return kept;
}

Expected<const Rule*, LimitError> Rules::add(Naming wanted) {
  const auto [name, text] = wanted;
  if (name.empty() || name.size() > 64 || !std::all_of(name.begin(), name.end(), fits_a_name)) {
    return LimitError{1, "a limit's name has 1 to 64 letters, digits, '_', '-', '.' or ':'"};
  }
  auto limit = Limit::parse(text);
  if (!limit) return limit.error();
  if (!limit->starts_full()) return LimitError{column_of(text, "initial"), std::string(not_full)};
  const std::lock_guard lock(mutex_);
  if (by_name_.contains("@" + std::string(name))) {
    return LimitError{1, "the name '" + std::string(name) + "' is taken by another limit"};
  }
  named_.reserve(named_.size() + 1);
  const Rule* const kept = keep(name, std::move(limit).value(), true);
  named_.push_back(kept);
  return kept;
}

Expected<const Rule*, LimitError> Rules::follow(std::string_view name, const Limit& limit) {
  if (name.size() > longest_following_name) {
    return LimitError{
        1, "a rule's name is longer than " + std::to_string(longest_following_name) + " bytes"};
  }
  const std::lock_guard lock(mutex_);
  Followers& family = followers_.try_emplace(std::string(name)).first->second;
  const auto same =
      std::ranges::find_if(family, [&](const Rule* rule) { return rule->limit == limit; });
  if (same != family.end()) {
    by_name_.find("@" + std::string(name))->second = *same;
    return *same;
  }
  if (following_ == most_following) {
    return LimitError{1, "rule files have brought a million limits since the start; restart"};
  }
  family.reserve(family.size() + 1);
  const Rule* const first = family.empty() ? nullptr : family.front();
  const Rule* const kept = keep(name, limit, true, first);
  family.push_back(kept);
  ++following_;
  return kept;
}

Expected<const Rule*, LimitError> Rules::find(std::string_view text) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = by_name_.find(text);
    if (known != by_name_.end() && known->second->id != 0) return known->second;
  }
  if (!text.empty() && text[0] == '@') {
    return LimitError{1, "no limit has this name; start the server with --limit NAME='5/1m'"};
  }
  auto limit = Limit::parse(text);
  if (!limit) return limit.error();
  if (!limit->starts_full()) return LimitError{column_of(text, "initial"), std::string(not_full)};
  const std::lock_guard lock(mutex_);
  const auto known = by_name_.find(limit->text());
  if (known != by_name_.end()) return known->second;
  if (unnamed_ == most_unnamed) {
    return LimitError{1,
                      "this server has met 10000 different limits; give them names with --limit"};
  }
  const std::string name = limit->text();
  const Rule* const kept = keep(name, std::move(limit).value(), false);
  ++unnamed_;
  return kept;
}

std::vector<const Rule*> Rules::named() const {
  const std::lock_guard lock(mutex_);
  return named_;
}

std::size_t Rules::size() const {
  const std::lock_guard lock(mutex_);
  return rules_.size();
}

}  // namespace weir
