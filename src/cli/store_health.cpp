#include "cli/store_health.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>

#include "redis/error_reply.hpp"
#include "redis/limit_config.hpp"
#include "redis/scripts.hpp"
#include "redis/stored_key.hpp"

namespace weir::cli {
namespace {

using redis::ErrorKind;
using redis::ScriptVerb;
using std::chrono::microseconds;
using wire::Reply;
using wire::ReplyType;
using Words = std::vector<std::string>;

constexpr const char* access_line =
    "ACL SETUSER NAME resetkeys ~weir:* -@all +fcall +evalsha +eval +time +get +set +del "
    "+getrange +setrange +strlen +pexpire";
/// Further off than that, and people who read both machines' logs are misled.
constexpr microseconds noticeable_skew = std::chrono::seconds{1};
/// In a cluster: keys that are tried until one is of this node.
constexpr int most_keys_tried = 200;

std::string first_line(std::string_view text) { return std::string(text.substr(0, 160)); }

/// What INFO tells, by name.
class Facts {
 public:
  explicit Facts(std::string_view info) {
    while (!info.empty()) {
      const std::string_view line = info.substr(0, info.find_first_of("\r\n"));
      info.remove_prefix(std::min(line.size() + 1, info.size()));
      const auto colon = line.find(':');
      if (colon != line.npos) facts_[std::string(line.substr(0, colon))] = line.substr(colon + 1);
    }
  }

  bool empty() const { return facts_.empty(); }
  /// Empty where it is not told.
  std::string text(const char* name) const {
    const auto found = facts_.find(name);
    return found == facts_.end() ? "" : found->second;
  }
  std::uint64_t number(const char* name) const {
    const std::string digits = text(name);
    std::uint64_t number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return number;
  }

 private:
  std::map<std::string, std::string> facts_;
};

/// Asks; where no answer comes that is an error too, which says why.
class Asking {
 public:
  explicit Asking(const AskedStore& store) : store_(store) {}

  Reply operator()(const Words& words) const {
    auto reply = store_.ask(words);
    if (reply) return std::move(reply).value();
    return {.type = ReplyType::error, .text = "no answer: " + reply.error().why};
  }

 private:
  const AskedStore& store_;
};

bool failed(const Reply& reply) { return reply.type == ReplyType::error; }

// ---- Which server ----

Finding version_finding(const Facts& facts) {
  const std::string valkey = facts.text("valkey_version");
  const std::string redis = facts.text("redis_version");
  const std::string version = valkey.empty() ? "Redis " + redis : "Valkey " + valkey;
  int major = 0;
  std::from_chars(redis.data(), redis.data() + redis.size(), major);
  if (major >= 7) return {Health::ok, "version", version};
  if (major >= 5)
    return {Health::ok, "version", version + " has no functions: scripts, by EVALSHA"};
  return {Health::fail, "version",
          version + " may write by scripts as their text, not their effect", "Redis 5 or later"};
}

Finding kind_finding(const AskedStore& store, const Facts& facts) {
  using Reached = AskedStore::Reached;
  const std::string mode = facts.text("redis_mode");
  if (mode == "sentinel") {
    return {Health::fail, "kind", "a Sentinel, which keeps no limits",
            "name it as such: redis+sentinel://HOST:PORT/MASTER"};
  }
  const bool cluster = facts.number("cluster_enabled") == 1;
  if (cluster && store.reached != Reached::in_cluster) {
    return {Health::fail, "kind", "a node of a cluster, which sends most keys elsewhere",
            "name the cluster: redis+cluster://HOST:PORT"};
  }
  if (!cluster && store.reached == Reached::in_cluster) {
    return {Health::fail, "kind", "no cluster", "name it without +cluster"};
  }
  return {Health::ok, "kind", cluster ? "a node of a cluster" : "one server"};
}

Finding role_finding(const Facts& facts) {
  if (facts.text("role") == "slave") {
    return {Health::fail, "role",
            "a replica of " + facts.text("master_host") + ":" + facts.text("master_port") +
                ", which takes no writes",
            "name its master, or the Sentinels: redis+sentinel://HOST:PORT/MASTER"};
  }
  const std::string replicas = facts.text("connected_slaves");
  if (replicas == "0") return {Health::ok, "role", "a master without replicas"};
  return {Health::ok, "role",
          "a master, replicas: " + replicas + "; a failover forgets what was granted last"};
}

/// What there is of our functions, and whether to call them.
struct Functions {
  Finding finding;
  bool callable = false;
};

Functions functions_of(const AskedStore& store, const Asking& ask) {
  const std::string name(redis::library_name);
  const Reply reply = ask({"FUNCTION", "LIST", "LIBRARYNAME", name, "WITHCODE"});
  if (failed(reply)) {
    return {{Health::ok, "functions",
             "not for us: scripts, by EVALSHA (" + first_line(reply.text) + ")"}};
  }
  const Reply* code = reply.elements.empty() ? nullptr : reply.elements[0].field("library_code");
  if (!code) {
    return {{Health::warn, "functions",
             name + " is not loaded; the first call does that, if it may",
             "weir lua install " + store.url}};
  }
  if (code->text == redis::function_library()) {
    return {{Health::ok, "functions", name + " is loaded"}, true};
  }
  return {{Health::fail, "functions", "another library is called " + name,
           "look at it: FUNCTION LIST LIBRARYNAME " + name + " WITHCODE"}};
}

// ---- Whether it decides ----

struct Trial {
  ScriptVerb verb;
  const char* limit;
  Words arguments;  ///< behind the limit
};

/// Together they use every command that the scripts may want.
const std::array trials{
    Trial{ScriptVerb::take, "5/1s", {"1", "0"}},
    Trial{ScriptVerb::refund, "5/1s", {"1"}},
    Trial{ScriptVerb::take, "sliding-log 400/1s", {"200", "0"}},
    Trial{ScriptVerb::take, "sliding-log 400/1s", {"1", "0"}},
};

Words trial_command(const Trial& trial, const std::string& key, std::string_view way) {
  const Limit limit = Limit::of(trial.limit);
  Words words{"EVAL", redis::script_of(trial.verb, redis::machine_letter(limit))};
  if (way == "FCALL") words = {"FCALL", redis::function_name(trial.verb)};
  words.insert(words.end(), {"1", redis::stored_key({key, limit.text()})});
  words.push_back(redis::config_text(limit).value());
  words.insert(words.end(), trial.arguments.begin(), trial.arguments.end());
  return words;
}

std::string mend_for(std::string_view error) {
  // What a script may not do is an error of the script, by other words in each release.
  for (const char* const words : {"ACL failure in script", "executing the script can't"}) {
    if (error.find(words) != error.npos) return access_line;
  }
  switch (redis::kind_of(error)) {
    case ErrorKind::no_permission:
    case ErrorKind::wrong_type:  // the key is ours: it may not be read
      return access_line;
    case ErrorKind::no_auth:
    case ErrorKind::wrong_password: return "redis://USER@HOST:PORT?password-file=FILE";
    case ErrorKind::read_only: return "name its master, or the Sentinels";
    case ErrorKind::out_of_memory: return "raise maxmemory: until then nobody is granted anything";
    case ErrorKind::cannot_save: return "make room on its disk; its log says what it cannot write";
    case ErrorKind::no_replicas: return "bring replicas back, or lower min-replicas-to-write";
    case ErrorKind::cluster_down: return "CLUSTER INFO says which slots are nobody's";
    case ErrorKind::busy: return "SCRIPT KILL, or FUNCTION KILL";
    default: return "";
  }
}

Finding decisions_finding(const Asking& ask, const std::string& way) {
  for (const Trial& trial : trials) {
    Reply reply;
    for (int at = 0; at != most_keys_tried; ++at) {
      reply = ask(trial_command(trial, "weir-doctor-" + std::to_string(at), way));
      if (!failed(reply) || redis::kind_of(reply.text) != ErrorKind::moved) break;
    }
    if (!failed(reply)) continue;
    return {Health::fail, "decisions",
            std::string(redis::name(trial.verb)) + " by " + way + ": " + first_line(reply.text),
            mend_for(reply.text)};
  }
  return {Health::ok, "decisions", "takes, and gives back, by " + way};
}

// ---- Whether it remembers ----

Finding eviction_finding(const Facts& facts) {
  const std::string policy = facts.text("maxmemory_policy");
  if (facts.number("maxmemory") == 0) {
    return {Health::ok, "eviction", "none: there is no maxmemory"};
  }
  if (policy == "noeviction") {
    return {Health::ok, "eviction", "none: at maxmemory it refuses, and the policy decides"};
  }
  return {Health::warn, "eviction",
          policy + ": whose state is evicted has its whole limit again; evicted so far: " +
              facts.text("evicted_keys"),
          "CONFIG SET maxmemory-policy noeviction, or a Redis for limits alone"};
}

Finding persistence_finding(const Facts& facts) {
  if (facts.text("rdb_last_bgsave_status") == "err" ||
      facts.text("aof_last_write_status") == "err") {
    return {Health::fail, "persistence", "it cannot save, and may refuse to be written to",
            "make room on its disk; its log says what it cannot write"};
  }
  if (facts.text("loading") == "1") return {Health::warn, "persistence", "it is still loading"};
  return {Health::ok, "persistence",
          facts.number("aof_enabled") == 1 ? "an append-only file"
                                           : "no append-only file: a restart forgets what was "
                                             "granted since its last snapshot"};
}

/// What a server's TIME says; nothing where it says none.
std::optional<microseconds> told_time(const Reply& reply) {
  if (reply.elements.size() != 2) return {};
  std::array<std::int64_t, 2> parts{};
  for (std::size_t at = 0; at < parts.size(); ++at) {
    const std::string& digits = reply.elements[at].text;
    std::from_chars(digits.data(), digits.data() + digits.size(), parts[at]);
  }
  return std::chrono::seconds{parts[0]} + microseconds{parts[1]};
}

std::string in_seconds(microseconds span) {
  return std::to_string(std::chrono::round<std::chrono::seconds>(span).count()) + " s";
}

Finding clock_finding(const AskedStore& store, const Asking& ask) {
  const microseconds asked_at = store.now();
  const Reply reply = ask({"TIME"});
  const microseconds heard_at = store.now();
  const auto first = told_time(reply);
  const auto second = told_time(ask({"TIME"}));
  if (!first || !second) {
    return {Health::fail, "clock", "it does not tell the time: " + first_line(reply.text),
            failed(reply) ? mend_for(reply.text) : ""};
  }
  if (*second < *first) {
    return {Health::fail, "clock",
            "it went back by " + std::to_string((*first - *second).count()) +
                " us between two questions",
            "chronyd or ntpd on its machine, slewing; see `chronyc tracking`"};
  }
  // Where within the asking it was told is not known.
  const microseconds ahead = *first - heard_at;
  const microseconds behind = asked_at - *first;
  if (ahead <= noticeable_skew && behind <= noticeable_skew) {
    return {Health::ok, "clock", "within " + in_seconds(noticeable_skew) + " of this machine's"};
  }
  return {Health::warn, "clock",
          in_seconds(std::max(ahead, behind)) + (ahead > behind ? " ahead of" : " behind") +
              " this machine's; limits go by it alone",
          "chronyd or ntpd on both machines"};
}

}  // namespace

std::vector<Finding> examine_store(const AskedStore& store) {
  const Asking ask(store);
  std::vector<Finding> findings;
  const Reply info = ask({"INFO"});
  if (failed(info) && redis::kind_of(info.text) == ErrorKind::no_auth) {
    // Nothing else is to be learnt; asked for more, it hangs up.
    return {{Health::fail, "access", first_line(info.text), mend_for(info.text)}};
  }
  const Facts facts(failed(info) ? "" : info.text);
  if (facts.empty()) {
    findings.push_back({Health::warn, "INFO",
                        "what it is, and how it keeps, is not known: " + first_line(info.text),
                        "allow it for this look: +info"});
  } else {
    findings.push_back(version_finding(facts));
    findings.push_back(kind_finding(store, facts));
    findings.push_back(role_finding(facts));
  }
  const Functions functions = functions_of(store, ask);
  findings.push_back(functions.finding);
  findings.push_back(decisions_finding(ask, functions.callable ? "FCALL" : "EVAL"));
  findings.push_back(clock_finding(store, ask));
  if (!facts.empty()) {
    findings.push_back(eviction_finding(facts));
    findings.push_back(persistence_finding(facts));
  }
  return findings;
}

}  // namespace weir::cli
