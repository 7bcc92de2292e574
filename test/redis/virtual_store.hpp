// A store in this process: the scripts in Lua, faults of the test's choosing, time by hand.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "redis/slots.hpp"
#include "test/redis/lua_store.hpp"
#include "weir/redis/store.hpp"
#include "weir/steady_instant.hpp"

namespace weir::redis {

/// What becomes of a call: the test looks at its words and says.
enum class Fate : std::uint8_t {
  answered,
  held,           ///< until release(), and runs then
  answered_late,  ///< runs now, but is told at release()
  lost,           ///< it runs, and nobody hears of it: timed_out
  not_sent,       ///< it does not run
  broken_off,     ///< it does not run, but who knows: indeterminate
};

class VirtualStore : public Store {
 public:
  using Words = std::vector<std::string>;

  explicit VirtualStore(Loaded loaded = Loaded::library) : loaded_(loaded), lua_(loaded) {
    set_time(now);
  }

  void ask(const StoreCall& call, Then then) override;
  bool has_slots() const noexcept override { return nodes > 1; }
  bool has_module(std::string_view route) const noexcept override {
    return with_module.contains(slot_of(route) % nodes);
  }

  /// The store's clock and the steady one, together.
  void pass(Span span) { set_time(now + span); }
  void set_time(Instant to) {
    const std::lock_guard lock(mutex_);
    now = to;
    lua_.set_time(to);
  }
  SteadyInstant steady() {
    const std::lock_guard lock(mutex_);
    return SteadyInstant{now.time_since_epoch()};
  }
  Instant unix() {
    const std::lock_guard lock(mutex_);
    return now;
  }

  /// Forgets what was loaded: FUNCTION FLUSH and SCRIPT FLUSH.
  void flush() {
    const std::lock_guard lock(mutex_);
    forget();
  }
  /// The same from within `fate` or `reply`.
  void forget() { has_.clear(); }

  /// Lets the calls that are held run, as many as are held now.
  void release();
  /// The first of them alone.
  void release_first();
  /// Ends them so, and none of them runs.
  void release_as(const StoreReply& end);
  std::size_t held() const { return held_.size(); }

  /// How many commands of a name came: FCALL, EVALSHA, EVAL, FUNCTION, SCRIPT, DEL, WEIR_1.TAKE.
  std::size_t count(const std::string& command) {
    const std::lock_guard lock(mutex_);
    return counts_[command];
  }
  std::size_t calls() {
    const std::lock_guard lock(mutex_);
    std::size_t sum = 0;
    for (const auto& [command, times] : counts_) sum += times;
    return sum;
  }

  LuaStore& lua() { return lua_; }

  std::function<Fate(const Words&)> fate = [](const Words&) { return Fate::answered; };
  /// A reply in place of the store's own; nothing runs.
  std::function<std::optional<StoreReply>(const Words&)> reply = [](const Words&) {
    return std::nullopt;
  };
  /// Above 1 each slot lies at one of so many nodes, and scripts are loaded into each by itself.
  std::size_t nodes = 1;
  /// The nodes that have the module, whose commands are the functions here too.
  std::set<std::size_t> with_module{};
  Instant now{std::chrono::seconds{1'750'000'000}};

 private:
  struct Held {
    Words words;
    std::string route;
    Then then;
    std::optional<StoreReply> answer{};  ///< where it has run
  };

  StoreReply run(const Words& words, std::size_t node);
  StoreReply run_script(ScriptVerb verb, char letter, const Words& words);
  StoreReply run_command(const Words& words, std::size_t node);
  StoreReply run_function(const Words& words, std::size_t node);
  StoreReply run_by_digest(const Words& words, std::size_t node);
  StoreReply load(const Words& words, std::size_t node);

  Loaded loaded_;
  LuaStore lua_;
  std::mutex mutex_;
  std::set<std::pair<std::size_t, std::string>> has_;  ///< by node: "library", or a digest
  std::map<std::string, std::size_t> counts_;
  std::deque<Held> held_;
};

inline StoreReply error_reply(std::string text) {
  return {CallOutcome::answered, StoreReply::Kind::error, {}, std::move(text)};
}

inline StoreReply integers_reply(std::vector<std::int64_t> integers) {
  return {CallOutcome::answered, StoreReply::Kind::integers, std::move(integers), {}};
}

}  // namespace weir::redis
