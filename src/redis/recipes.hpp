// Limits that services keep in a Redis already, in their own keys and forms.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/redis/recipes.hpp"
#include "weir/vocabulary.hpp"

namespace weir::redis {

/// Each is one script, which states its keys, arguments and reply (scripts/recipes). What they
/// promise is in docs/redis-recipes.md.
enum class Recipe : std::uint8_t {
  incr_window,  ///< a fixed window from the first hit on: a counter with an expiry
  zset_log,     ///< a sliding log: a sorted set with a member for each unit
  spring,       ///< the token bucket of Spring Cloud Gateway's RedisRateLimiter
};
inline constexpr std::array recipes{Recipe::incr_window, Recipe::zset_log, Recipe::spring};

/// incr-window, zset-log, spring.
const char* name(Recipe recipe) noexcept;

/// The script for EVAL, and what EVALSHA calls it.
struct RecipeText {
  std::string_view digest;
  std::string_view script;
};
const RecipeText& text_of(Recipe recipe) noexcept;

/// Apart from the library that decides by weir's own forms: whoever has one need not have the
/// other, and a change of one renames only its functions.
inline constexpr std::string_view recipe_library_name = "weir_recipes_1";

/// weir_recipes_1_incr_window.
std::string recipe_function(Recipe recipe);

/// All recipes, for FUNCTION LOAD.
std::string recipe_library();

/// The words behind a script's name: how many keys, the keys, the arguments.
using RecipeWords = std::vector<std::string>;

struct WindowLimit {
  Cost limit = 1;
  Span period{};
};
RecipeWords incr_window_words(std::string_view key, const WindowLimit& limit, Cost cost);
RecipeWords zset_log_words(std::string_view key, const WindowLimit& limit, ScoreUnit unit,
                           Cost cost);

struct SpringLimit {
  double rate = 1;  ///< a second
  Cost capacity = 1;
};
/// Whose bucket. Gateways up to 4.1 have one for each id, later ones for each route and id.
struct SpringName {
  std::string_view route;  ///< empty: no part of the keys
  std::string_view id;
};
std::array<std::string, 2> spring_keys(const SpringName& name);
RecipeWords spring_words(const SpringName& name, const SpringLimit& limit, Cost cost);

struct RecipeDecision {
  Decision decision;
  Instant decided_at;
};
/// Nothing where these are no recipe's integers.
std::optional<RecipeDecision> read_recipe_reply(std::span<const std::int64_t> integers) noexcept;

}  // namespace weir::redis
