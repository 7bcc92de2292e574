// A store that runs the recipes: Lua in this process, or a redis-server.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "redis/recipes.hpp"
#include "weir/vocabulary.hpp"
#include "wire/resp_reader.hpp"

namespace weir::redis {

class RecipeStore {
 public:
  virtual ~RecipeStore() = default;

  virtual void set_time(Instant now) = 0;
  /// `words` stand behind the script's name: how many keys, the keys, the arguments.
  virtual wire::Reply run(Recipe recipe, const RecipeWords& words) = 0;
  /// As any client's.
  virtual wire::Reply command(const std::vector<std::string>& words) = 0;
};

struct RecipeStoreMaker {
  std::string name;
  std::function<std::unique_ptr<RecipeStore>()> make;
};
inline void PrintTo(const RecipeStoreMaker& maker, std::ostream* out) { *out << maker.name; }

/// Those that this program tests.
std::vector<RecipeStoreMaker> recipe_stores();

}  // namespace weir::redis
