#include "test/redis/recipe_store.hpp"
#include "test/redis/redis_store.hpp"

namespace weir::redis {
namespace {

/// By EVALSHA, with the digests that the build wrote down; or by FCALL.
class RedisRecipes : public RecipeStore {
 public:
  explicit RedisRecipes(Loaded loaded) : loaded_(loaded), store_(Loaded::scripts) {
    if (loaded == Loaded::library) {
      store_.run({"FUNCTION", "LOAD", recipe_library()});
      return;
    }
    for (const Recipe recipe : recipes) {
      store_.run({"SCRIPT", "LOAD", std::string(text_of(recipe).script)});
    }
  }

  void set_time(Instant now) override { store_.set_time(now); }

  wire::Reply run(Recipe recipe, const RecipeWords& words) override {
    std::vector<std::string> command{"EVALSHA", std::string(text_of(recipe).digest)};
    if (loaded_ == Loaded::library) command = {"FCALL", recipe_function(recipe)};
    command.insert(command.end(), words.begin(), words.end());
    return store_.run(command);
  }

  wire::Reply command(const std::vector<std::string>& words) override { return store_.run(words); }

 private:
  Loaded loaded_;
  RedisStore store_;
};

}  // namespace

std::vector<RecipeStoreMaker> recipe_stores() {
  return {{"Functions", [] { return std::make_unique<RedisRecipes>(Loaded::library); }},
          {"Scripts", [] { return std::make_unique<RedisRecipes>(Loaded::scripts); }}};
}

}  // namespace weir::redis
