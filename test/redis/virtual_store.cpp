#include "test/redis/virtual_store.hpp"

#include <array>

#include "wire/integer.hpp"

namespace weir::redis {
namespace {

constexpr std::array verbs{ScriptVerb::take,   ScriptVerb::peek,    ScriptVerb::cancel,
                           ScriptVerb::refund, ScriptVerb::release, ScriptVerb::renew,
                           ScriptVerb::share};
constexpr std::string_view letters = "tlfwockm";

struct Script {
  ScriptVerb verb;
  char letter;
};

const std::map<std::string, Script, std::less<>>& scripts_by_text() {
  static const auto all = [] {
    std::map<std::string, Script, std::less<>> scripts;
    for (const ScriptVerb verb : verbs) {
      for (const char letter : letters) scripts[script_of(verb, letter)] = {verb, letter};
    }
    return scripts;
  }();
  return all;
}

/// Forty characters, as a real one has.
std::string digest_of(const Script& script) {
  return std::string(38, 'd') + std::to_string(static_cast<int>(script.verb)) + script.letter;
}

StoreReply text_reply(std::string text) {
  return {CallOutcome::answered, StoreReply::Kind::text, {}, std::move(text)};
}

StoreReply unanswered(CallOutcome outcome, std::string why) {
  return {outcome, StoreReply::Kind::none, {}, std::move(why)};
}

}  // namespace

void VirtualStore::ask(const StoreCall& call, Then then) {
  const Words words(call.words.begin(), call.words.end());
  StoreReply answer;
  {
    const std::lock_guard lock(mutex_);
    ++counts_[words.at(0)];
    const std::size_t node = slot_of(call.route) % nodes;
    if (SteadyInstant{now.time_since_epoch()} >= call.deadline_at) {
      answer = unanswered(CallOutcome::timed_out, "its deadline has passed");
    } else if (auto told = reply(words)) {
      answer = std::move(*told);
    } else {
      switch (fate(words)) {
        case Fate::answered: answer = run(words, node); break;
        case Fate::held: held_.push_back({words, std::string(call.route), std::move(then)}); return;
        case Fate::answered_late:
          held_.push_back({words, std::string(call.route), std::move(then), run(words, node)});
          return;
        case Fate::lost:
          run(words, node);
          answer = unanswered(CallOutcome::timed_out, "no answer");
          break;
        case Fate::not_sent: answer = unanswered(CallOutcome::not_sent, "no node"); break;
        case Fate::broken_off:
          answer = unanswered(CallOutcome::indeterminate, "the connection ended");
          break;
      }
    }
  }
  then(std::move(answer));
}

void VirtualStore::release() {
  for (std::size_t left = held_.size(); left > 0; --left) release_first();
}

void VirtualStore::release_first() {
  Held first = std::move(held_.front());
  held_.pop_front();
  StoreReply answer;
  {
    const std::lock_guard lock(mutex_);
    answer = first.answer ? *first.answer : run(first.words, slot_of(first.route) % nodes);
  }
  first.then(std::move(answer));
}

void VirtualStore::release_as(const StoreReply& end) {
  std::deque<Held> held;
  held.swap(held_);
  for (Held& one : held) one.then(StoreReply(end));
}

StoreReply VirtualStore::run(const Words& words, std::size_t node) {
  const std::string& command = words[0];
  if (command == "DEL") return integers_reply({lua_.erase(words.at(1)) ? 1 : 0});
  if (command == "FCALL") return run_function(words, node);
  if (command == "FUNCTION" || command == "SCRIPT") return load(words, node);
  if (command == "EVALSHA") return run_by_digest(words, node);
  if (command == "EVAL") {
    const Script& script = scripts_by_text().at(words.at(1));
    has_.insert({node, digest_of(script)});
    return run_script(script.verb, script.letter, words);
  }
  return run_command(words, node);
}

StoreReply VirtualStore::run_command(const Words& words, std::size_t node) {
  for (const ScriptVerb verb : verbs) {
    if (!with_module.contains(node) || module_command(verb) != words[0]) continue;
    Words as_function = words;
    as_function.insert(as_function.begin() + 1, function_name(verb));
    return run_script(verb, 'm', as_function);
  }
  return error_reply("ERR unknown command '" + words[0] + "', with args beginning with: ");
}

StoreReply VirtualStore::load(const Words& words, std::size_t node) {
  if (words[0] == "SCRIPT") {
    const std::string digest = digest_of(scripts_by_text().at(words.at(2)));
    has_.insert({node, digest});
    return text_reply(digest);
  }
  if (loaded_ == Loaded::scripts) return error_reply("ERR unknown command 'FUNCTION'");
  if (!has_.insert({node, "library"}).second) {
    return error_reply("ERR Library 'weir_1' already exists");
  }
  return text_reply("weir_1");
}

StoreReply VirtualStore::run_function(const Words& words, std::size_t node) {
  if (loaded_ == Loaded::scripts) {
    return error_reply("ERR unknown command 'FCALL', with args beginning with: ");
  }
  if (!has_.contains({node, "library"})) return error_reply("ERR Function not found");
  for (const ScriptVerb verb : verbs) {
    if (function_name(verb) == words.at(1)) return run_script(verb, 'm', words);
  }
  return error_reply("ERR Function not found");
}

StoreReply VirtualStore::run_by_digest(const Words& words, std::size_t node) {
  for (const auto& [text, script] : scripts_by_text()) {
    if (digest_of(script) == words.at(1) && has_.contains({node, words.at(1)})) {
      return run_script(script.verb, script.letter, words);
    }
  }
  return error_reply("NOSCRIPT No matching script. Please use EVAL.");
}

StoreReply VirtualStore::run_script(ScriptVerb verb, char letter, const Words& words) {
  const auto keys = words.begin() + 3;
  const auto arguments = keys + wire::strict_integer(words.at(2)).value();
  const ScriptReply told = lua_.call({.verb = verb,
                                      .letter = letter,
                                      .keys = {keys, arguments},
                                      .arguments = {arguments, words.end()}});
  if (!told.error.empty()) return error_reply(told.error);
  return integers_reply(told.integers);
}

}  // namespace weir::redis
