#include "redis/script_caller.hpp"

#include <array>
#include <atomic>
#include <initializer_list>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "redis/error_reply.hpp"
#include "redis/slots.hpp"

namespace weir::redis {
namespace {

/// How a script is named to the store.
enum class Way : std::uint8_t {
  module,    ///< its own command, which is never missing where it was told of
  function,  ///< FCALL
  digest,    ///< EVALSHA
  text,      ///< EVAL
};

struct Attempt {
  ScriptCaller::Call call;
  Store::Then then;
  Way way = Way::function;
  int tries = 0;
  bool missed = false;  ///< what it needs was not there before
};
using AttemptPtr = std::shared_ptr<Attempt>;

StoreReply not_sent(std::string why) {
  return {CallOutcome::not_sent, StoreReply::Kind::none, {}, std::move(why)};
}

bool is_error(const StoreReply& reply) {
  return reply.outcome == CallOutcome::answered && reply.kind == StoreReply::Kind::error;
}

/// Whether the store does not know or not allow the command as such, whatever its keys.
bool has_no_command(const StoreReply& reply) {
  if (!is_error(reply)) return false;
  const std::string_view error = reply.text;
  switch (kind_of(error)) {
    case ErrorKind::unknown_command: return true;
    case ErrorKind::no_permission:
      return error.find("permissions to run the") != std::string_view::npos;
    default: return error.starts_with("ERR unknown subcommand");
  }
}

bool exists_already(const StoreReply& reply) {
  return is_error(reply) && reply.text.find("already exists") != std::string::npos;
}

}  // namespace

class ScriptCaller::Body : public std::enable_shared_from_this<Body> {
 public:
  Body(Store& store, Now now) : store_(store), now_(std::move(now)) {}

  void begin(AttemptPtr attempt) {
    attempt->way = by_module(attempt->call) ? Way::module : by_script();
    send(std::move(attempt));
  }

  std::uint64_t loads() const noexcept { return loads_; }

 private:
  /// The library or one script, and who waits for it to be loaded.
  struct Loadable {
    std::string text{};    ///< does not change once made
    std::string digest{};  ///< of a script, as the store told it
    bool under_way = false;
    SteadyInstant ends_by{};  ///< the deadline of who has it loaded
    std::vector<AttemptPtr> waiting{};
  };

  Way by_script() const { return has_functions_ ? Way::function : Way::digest; }

  bool by_module(const ScriptCaller::Call& call) {
    const bool large_log = call.letter == 'o' && call.capacity > most_entries_by_module;
    if (large_log || call.by_scripts_alone || module_command(call.verb).empty()) return false;
    if (!store_.has_module(call.keys.front())) return false;
    const SteadyInstant refused_at = module_refused_at(call);
    return refused_at == SteadyInstant{} || now_() - refused_at >= module_retry_after;
  }

  /// When the module was last refused there; in a cluster slots go together that may be of one
  /// server. The epoch: never.
  std::atomic<SteadyInstant>& module_refused_at(const ScriptCaller::Call& call) {
    const std::size_t slot = store_.has_slots() ? slot_of(call.keys.front()) : 0;
    return refused_.at(slot * slot_groups / slot_count);
  }

  /// Requires the lock.
  Loadable& wanted_by(const Attempt& attempt) {
    if (attempt.way == Way::function) {
      if (library_.text.empty()) library_.text = function_library();
      return library_;
    }
    Loadable& script = scripts_[{attempt.call.verb, attempt.call.letter}];
    if (script.text.empty()) script.text = script_of(attempt.call.verb, attempt.call.letter);
    return script;
  }

  void send(AttemptPtr attempt) {
    if (attempt->tries++ > 0 && now_() >= attempt->call.deadline_at) {
      return attempt->then(not_sent("no time was left when its script had been loaded"));
    }
    if (attempt->tries > most_tries) {
      return attempt->then(not_sent("its script was gone again each time it had been loaded"));
    }
    switch (attempt->way) {
      case Way::module: return run(attempt, {module_command(attempt->call.verb)});
      case Way::function: return run(attempt, {"FCALL", function_name(attempt->call.verb)});
      case Way::text: {
        std::unique_lock lock(mutex_);
        const std::string_view text = wanted_by(*attempt).text;
        lock.unlock();
        return run(attempt, {"EVAL", text});
      }
      case Way::digest: break;
    }
    std::unique_lock lock(mutex_);
    const std::string digest = wanted_by(*attempt).digest;
    lock.unlock();
    if (digest.empty()) return load(std::move(attempt));
    run(attempt, {"EVALSHA", digest});
  }

  void run(const AttemptPtr& attempt, std::initializer_list<std::string_view> named) {
    const ScriptCaller::Call& call = attempt->call;
    const std::string count = std::to_string(call.keys.size());
    std::vector<std::string_view> words(named);
    words.push_back(count);
    words.insert(words.end(), call.keys.begin(), call.keys.end());
    words.insert(words.end(), call.arguments.begin(), call.arguments.end());
    ask(words, *attempt, [self = shared_from_this(), attempt](StoreReply&& reply) {
      self->heard(attempt, std::move(reply));
    });
  }

  void ask(const std::vector<std::string_view>& words, const Attempt& attempt, Store::Then then) {
    const ScriptCaller::Call& call = attempt.call;
    store_.ask({.words = words, .route = call.keys.front(), .deadline_at = call.deadline_at},
               std::move(then));
  }

  void heard(const AttemptPtr& attempt, StoreReply&& reply) {
    if (!is_error(reply)) return attempt->then(std::move(reply));
    const ErrorKind kind = kind_of(reply.text);
    if (attempt->way == Way::module) {
      if (has_no_command(reply)) {
        module_refused_at(attempt->call) = now_();
        attempt->way = by_script();
        return send(attempt);
      }
    } else if (attempt->way == Way::function) {
      if (kind == ErrorKind::no_function) return load(attempt);
      if (has_no_command(reply)) {
        has_functions_ = false;
        attempt->way = Way::digest;
        return send(attempt);
      }
    } else if (attempt->way == Way::digest && kind == ErrorKind::no_script) {
      if (!attempt->missed) return load(attempt);
      attempt->way = Way::text;
      return send(attempt);
    } else if (has_no_command(reply)) {
      has_functions_ = true;  // the next call looks whether an operator has loaded them by then
      reply.text += "; with FCALL permitted, `weir lua install` loads what it calls";
    }
    attempt->then(std::move(reply));
  }

  /// Has what the attempt lacks loaded at its node, by this attempt or by one that is at it.
  void load(AttemptPtr attempt) {
    std::unique_lock lock(mutex_);
    Loadable& wanted = wanted_by(*attempt);
    attempt->missed = true;
    // Who cannot wait for as long as the loader loads it too: that changes nothing.
    if (wanted.under_way && wanted.ends_by <= attempt->call.deadline_at) {
      if (wanted.waiting.size() < most_waiting) {
        wanted.waiting.push_back(std::move(attempt));
        return;
      }
      lock.unlock();
      return attempt->then(not_sent("too many calls wait for their script to be loaded"));
    }
    wanted.under_way = true;
    wanted.ends_by = attempt->call.deadline_at;
    lock.unlock();
    ++loads_;
    const std::string_view command = attempt->way == Way::function ? "FUNCTION" : "SCRIPT";
    ask({command, "LOAD", wanted.text}, *attempt,
        [self = shared_from_this(), attempt, &wanted](StoreReply&& reply) {
          self->loaded(wanted, attempt, std::move(reply));
        });
  }

  void loaded(Loadable& wanted, const AttemptPtr& loader, StoreReply&& reply) {
    std::vector<AttemptPtr> waiting;
    {
      const std::lock_guard lock(mutex_);
      wanted.under_way = false;
      waiting.swap(wanted.waiting);
      if (loader->way == Way::digest && reply.kind == StoreReply::Kind::text) {
        wanted.digest = reply.text.substr(0, digest_length);
      }
    }
    if (has_no_command(reply)) {
      if (loader->way == Way::function) has_functions_ = false;
      take_other_way(*loader);
      for (const AttemptPtr& one : waiting) take_other_way(*one);
      send(loader);
    } else if (is_error(reply) && !exists_already(reply)) {
      loader->then(std::move(reply));
    } else if (reply.outcome != CallOutcome::answered) {
      loader->then(not_sent("its script was being loaded: " + reply.text));
    } else {
      send(loader);
    }
    for (AttemptPtr& one : waiting) send(std::move(one));
  }

  static void take_other_way(Attempt& attempt) {
    attempt.way = attempt.way == Way::function ? Way::digest : Way::text;
    attempt.missed = false;
  }

  static constexpr std::size_t digest_length = 40;
  static constexpr std::size_t slot_groups = 256;

  Store& store_;
  Now now_;
  std::atomic<bool> has_functions_{true};
  std::array<std::atomic<SteadyInstant>, slot_groups> refused_{};  ///< see module_refused_at()
  std::atomic<std::uint64_t> loads_{0};
  std::mutex mutex_;
  Loadable library_;
  std::map<std::pair<ScriptVerb, char>, Loadable> scripts_;  ///< nodes stay where they are
};

ScriptCaller::ScriptCaller(Store& store, Now now)
    : body_(std::make_shared<Body>(store, std::move(now))) {}
ScriptCaller::~ScriptCaller() = default;

void ScriptCaller::call(Call call, Store::Then then) {
  auto attempt = std::make_shared<Attempt>();
  attempt->call = std::move(call);
  attempt->then = std::move(then);
  body_->begin(std::move(attempt));
}

std::uint64_t ScriptCaller::loads() const noexcept { return body_->loads(); }

}  // namespace weir::redis
