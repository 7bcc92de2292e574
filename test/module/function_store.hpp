// The module's commands that stand for the functions, as a store that runs the scripts.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "redis/told_limit.hpp"
#include "test/module/fake_server.hpp"
#include "test/redis/script_store.hpp"

namespace weir::module {

/// The words of a script's call, as the module takes them.
inline std::vector<std::string> words_of(const redis::ScriptCall& call) {
  std::vector<std::string> words{std::string(redis::module_command(call.verb)),
                                 std::to_string(call.keys.size())};
  words.insert(words.end(), call.keys.begin(), call.keys.end());
  words.insert(words.end(), call.arguments.begin(), call.arguments.end());
  return words;
}

inline redis::ScriptReply reply_of(const wire::Reply& reply) {
  if (reply.type == wire::ReplyType::error) return {{}, reply.text};
  if (reply.type == wire::ReplyType::integer) return {{reply.integer}, ""};
  redis::ScriptReply told;
  for (const wire::Reply& element : reply.elements) told.integers.push_back(element.integer);
  return told;
}

/// The module rounds up until when a key is kept, where the scripts round how long.
inline std::int64_t kept_for_ms_by_module(Instant now, Instant fresh_at) {
  return (fresh_at.time_since_epoch().count() + 999) / 1'000 -
         now.time_since_epoch().count() / 1'000;
}

/// Whether the module reads the limit's words.
inline bool knows(const Limit& limit) {
  const auto text = redis::config_text(limit);
  return text && redis::read_told_limit(*text).has_value();
}

/// In the server of this process.
class FakeFunctionStore : public redis::ScriptStore {
 public:
  std::string name() const override { return "the module's functions"; }
  bool keeps(const Limit& limit) const override { return knows(limit); }
  void set_time(Instant now) override {
    now_ = now;
    server_.set_time(now);
  }
  redis::ScriptReply call(const redis::ScriptCall& call) override {
    return reply_of(server_.run(words_of(call)));
  }
  std::optional<std::string> get(std::string_view key) override {
    const auto at = server_.keys().find(key);
    if (at == server_.keys().end()) return {};
    return at->second.bytes;
  }
  void set(std::string_view key, std::string_view value) override {
    server_.plant(std::string(key), {.is_string = true, .bytes = std::string(value)});
  }
  bool erase(std::string_view key) override {
    const auto at = server_.keys().find(key);
    if (at == server_.keys().end()) return false;
    server_.keys().erase(at);
    return true;
  }
  std::optional<std::int64_t> expires_in_ms(std::string_view key) override {
    const auto at = server_.keys().find(key);
    if (at == server_.keys().end() || !at->second.until_ms) return {};
    return *at->second.until_ms - now_.time_since_epoch().count() / 1'000;
  }
  std::int64_t kept_for_ms(Instant now, Instant fresh_at) const override {
    return kept_for_ms_by_module(now, fresh_at);
  }

  FakeServer& server() { return server_; }

 private:
  Instant now_{};
  FakeServer server_;
};

}  // namespace weir::module
