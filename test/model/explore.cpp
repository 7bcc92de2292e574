#include "test/model/explore.hpp"

#include <algorithm>
#include <optional>
#include <thread>

#include "test/model/turns.hpp"

namespace weir::model {
namespace {

/// What was wrong with one schedule.
std::string play(const Scene& scene, const Steering& steering) {
  std::vector<std::string> thrown(scene.threads.size());
  set_up(scene.threads.size(), steering);
  std::vector<std::thread> threads;
  for (std::size_t at = 0; at < scene.threads.size(); ++at) {
    threads.emplace_back([&, at] {
      enter(at);
      try {
        scene.threads[at]();
      } catch (const std::exception& error) {
        thrown[at] = error.what();
      }
      leave();
    });
  }
  run();
  for (std::thread& thread : threads) thread.join();
  if (locked_up()) return "the threads wait for each other's locks";
  for (const std::string& what : thrown) {
    if (!what.empty()) return what;
  }
  return scene.judge();
}

std::vector<Choice> choices_made() {
  std::vector<Choice> made;
  for (std::size_t at = 0; at < choices(); ++at) made.push_back(choice(at));
  return made;
}

std::string print(const std::vector<Choice>& choices) {
  std::string text = "; who went on where more than one could:";
  for (const Choice& choice : choices) text += ' ' + std::to_string(choice.thread);
  return text;
}

/// The next schedule in the order of a walk depth first: the last choice that has an option left.
bool advance(std::vector<Choice>& choices) {
  while (!choices.empty() && choices.back().taken + 1 == choices.back().options) choices.pop_back();
  if (choices.empty()) return false;
  ++choices.back().taken;
  return true;
}

}  // namespace

Explored explore(const std::function<Scene()>& make, const Bounds& bounds) {
  Explored explored;
  const auto play_one = [&](const Steering& steering) {
    const std::string fault = play(make(), steering);
    ++explored.schedules;
    explored.longest = std::max(explored.longest, choices());
    if (!fault.empty()) explored.fault = fault + print(choices_made());
    return fault.empty();
  };
  std::vector<Choice> path;
  do {
    if (!play_one({path.data(), path.size(), bounds.preemptions})) return explored;
    path = choices_made();
  } while (advance(path));
  for (std::size_t seed = 1; seed <= bounds.by_chance; ++seed) {
    const std::uint64_t spread = seed * 0x9e3779b97f4a7c15;
    if (!play_one({nullptr, 0, most_choices, spread})) return explored;
  }
  return explored;
}

}  // namespace weir::model
