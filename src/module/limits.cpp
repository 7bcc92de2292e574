#include "module/limits.hpp"

#include <algorithm>

#include "redis/limit_config.hpp"

namespace weir::module {

Expected<KnownLimit, std::string> Limits::known(std::string_view text) {
  auto parsed = Limit::parse(text);
  if (!parsed) {
    return "limit: column " + std::to_string(parsed.error().column) + ": " + parsed.error().message;
  }
  Limit limit = std::move(parsed).value();
  const auto storable = redis::config_text(limit);
  if (!storable) return "limit: " + std::string(redis::describe(storable.error()));
  std::string name = limit.text();
  redis::ToldLimit kept{limit.config(), redis::slack_of(limit.config())};
  return KnownLimit{std::move(limit), std::move(name), std::move(kept)};
}

std::string Limits::add(const Naming& wanted) {
  auto made = known(wanted.limit);
  if (!made) return made.error();
  KnownLimit limit = std::move(made).value();
  limit.name = "@" + std::string(wanted.name);
  std::string key = limit.name;
  const bool added = named_.try_emplace(std::move(key), std::move(limit)).second;
  return added ? "" : "limit '" + std::string(wanted.name) + "' is named twice";
}

Expected<const KnownLimit*, std::string> Limits::find(std::string_view text) {
  const auto& place = text.starts_with('@') ? named_ : unnamed_;
  if (const auto at = place.find(text); at != place.end()) return &at->second;
  if (text.starts_with('@')) {
    return std::string(
        "limit: no such name; expected one that the module was loaded with, or a "
        "limit's text");
  }
  auto made = known(text);
  if (!made) return made.error();
  return &unnamed_.try_emplace(std::string(text), std::move(made).value()).first->second;
}

const redis::ToldLimit* Limits::find_told(std::string_view text) {
  if (const auto at = told_.find(text); at != told_.end()) return &at->second;
  auto read = redis::read_told_limit(text);
  if (!read) return nullptr;
  return &told_.try_emplace(std::string(text), *std::move(read)).first->second;
}

}  // namespace weir::module
