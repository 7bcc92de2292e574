#include "redis/recipes.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace weir::redis {
namespace {

std::string score_unit_text(ScoreUnit unit) {
  constexpr std::array in_microseconds{"1", "1000", "1000000"};
  return in_microseconds[static_cast<std::size_t>(unit)];
}

/// Exactly the number, in as few digits as that takes.
std::string text_of_double(double number) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return {text.data(), end};
}

}  // namespace

const char* name(Recipe recipe) noexcept {
  constexpr std::array names{"incr-window", "zset-log", "spring"};
  return names[static_cast<std::size_t>(recipe)];
}

std::string recipe_function(Recipe recipe) {
  std::string function = std::string(recipe_library_name) + "_" + name(recipe);
  std::replace(function.begin(), function.end(), '-', '_');
  return function;
}

std::string recipe_library() {
  std::string library = "#!lua name=" + std::string(recipe_library_name) + "\n";
  for (const Recipe recipe : recipes) {
    library +=
        "\nredis.register_function('" + recipe_function(recipe) + "', function(KEYS, ARGV)\n";
    library += text_of(recipe).script;
    library += "end)\n";
  }
  return library;
}

RecipeWords incr_window_words(std::string_view key, const WindowLimit& limit, Cost cost) {
  return {"1", std::string(key), std::to_string(limit.limit), std::to_string(limit.period.count()),
          std::to_string(cost)};
}

RecipeWords zset_log_words(std::string_view key, const WindowLimit& limit, ScoreUnit unit,
                           Cost cost) {
  RecipeWords words = incr_window_words(key, limit, cost);
  words.push_back(score_unit_text(unit));
  return words;
}

std::array<std::string, 2> spring_keys(const SpringName& name) {
  std::string prefix = "request_rate_limiter.{";
  if (!name.route.empty()) prefix.append(name.route).append(".");
  prefix.append(name.id).append("}.");
  return {prefix + "tokens", prefix + "timestamp"};
}

RecipeWords spring_words(const SpringName& name, const SpringLimit& limit, Cost cost) {
  auto [tokens, timestamp] = spring_keys(name);
  return {"2",
          std::move(tokens),
          std::move(timestamp),
          text_of_double(limit.rate),
          std::to_string(limit.capacity),
          std::to_string(cost)};
}

std::optional<RecipeDecision> read_recipe_reply(std::span<const std::int64_t> integers) noexcept {
  if (integers.size() != 6) return {};
  const auto instant = [](std::int64_t ticks) { return Instant{Span{ticks}}; };
  Verdict verdict{};
  switch (integers[0]) {
    case 0: verdict = Verdict::granted; break;
    case 2: verdict = Verdict::denied; break;
    case 3: verdict = Verdict::impossible; break;
    default: return {};
  }
  return RecipeDecision{
      .decision = {.verdict = verdict,
                   .ready_at = verdict == Verdict::impossible ? never : instant(integers[2]),
                   .limit = integers[3],
                   .remaining = integers[4],
                   .reset_at = instant(integers[5])},
      .decided_at = instant(integers[1])};
}

}  // namespace weir::redis
