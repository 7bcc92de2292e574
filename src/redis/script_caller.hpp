// A verb's script, brought to a store that may not have it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "redis/scripts.hpp"
#include "weir/redis/store.hpp"
#include "weir/steady_instant.hpp"

namespace weir::redis {

/// Asks the module where the server has it; else calls scripts by FCALL where the store has
/// Functions, else by EVALSHA: the first call finds out. A server that does not know or not allow
/// the module's command is asked for the script in the same call, and the module is left alone for
/// module_retry_after, in a cluster for 64 slots around.
///
/// Where the store lacks the functions or the script, they are loaded and the call is made again:
/// one caller loads, those who meet the same want meanwhile wait for it, unless their deadline is
/// nearer than its own. A script that is gone again right after is sent along whole, by EVAL.
///
/// Only what certainly did not run is asked again: an answer that says so. All of a call's tries
/// share its deadline.
///
/// Bound    most_tries for a call; most_waiting for each thing to load, more end `not_sent`
/// Memory   what waits; each script once met, 6 to 30 kB
/// Threads  safe from any. `then` is called once, as Store::ask says; it may outlast the caller
class ScriptCaller {
 public:
  static constexpr int most_tries = 16;
  static constexpr std::size_t most_waiting = 1024;
  static constexpr std::chrono::seconds module_retry_after{60};
  /// The module reads a log whole, where a script changes a large one in place.
  static constexpr Cost most_entries_by_module = 512;

  using Now = std::function<SteadyInstant()>;

  struct Call {
    ScriptVerb verb = ScriptVerb::take;
    char letter = 'm';              ///< of the limits' machine, m where they differ
    Cost capacity = 0;              ///< of the largest limit
    bool by_scripts_alone = false;  ///< a limit that the module does not know is among them
    std::vector<std::string> keys{};
    std::vector<std::string> arguments{};
    SteadyInstant deadline_at{};
  };

  /// The store must outlive all calls.
  ScriptCaller(Store& store, Now now);
  ~ScriptCaller();
  ScriptCaller(const ScriptCaller&) = delete;
  ScriptCaller& operator=(const ScriptCaller&) = delete;

  /// Requires a key at least.
  void call(Call call, Store::Then then);

  /// Scripts and libraries that were sent to be loaded so far.
  std::uint64_t loads() const noexcept;

 private:
  class Body;
  std::shared_ptr<Body> body_;  ///< kept by each call under way
};

}  // namespace weir::redis
