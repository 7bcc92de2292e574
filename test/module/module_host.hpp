// The module as a host under test, in whichever server runs its commands.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "redis/limit_config.hpp"
#include "redis/stored_form.hpp"
#include "redis/stored_key.hpp"
#include "test/host/differential.hpp"
#include "wire/resp_reader.hpp"

namespace weir::module {

/// A server that has the module, and a clock of the test's.
class ModuleServer {
 public:
  virtual ~ModuleServer() = default;
  virtual std::string name() const = 0;
  virtual void set_time(Instant now) = 0;
  virtual wire::Reply run(const std::vector<std::string>& command) = 0;
  virtual std::optional<std::string> get(const std::string& key) = 0;
  /// Whether the key expires.
  virtual bool is_mortal(const std::string& key) = 0;
};

class ModuleHost : public host::Host {
 public:
  explicit ModuleHost(ModuleServer& server) : server_(server) {}

  std::string name() const override { return server_.name(); }
  bool keeps(const Limit& limit) const override { return redis::config_text(limit).has_value(); }
  Turn turn() const override { return Turn::joint; }
  Span patience_grain() const override { return Span{1'000}; }
  bool peeks_with_patience() const override { return false; }

  Decision take(const host::Subject& subject, const Request& request, std::size_t ticket) override {
    std::vector<std::string> command{"WEIR.TAKE", std::string(subject.key), subject.limit.text(),
                                     "COST", std::to_string(request.cost)};
    if (request.patience) {
      command.insert(command.end(),
                     {"PATIENCE", std::to_string(request.patience->count() / 1'000)});
    }
    const wire::Reply reply = ask(request.now, command);
    if (const wire::Reply* grant = reply.field("grant")) grants_[ticket] = grant->text;
    return decision_in(reply, request.now);
  }

  Decision peek(const host::Subject& subject, const Request& request) override {
    return decision_in(
        ask(request.now, {"WEIR.PEEK", std::string(subject.key), subject.limit.text(), "COST",
                          std::to_string(request.cost)}),
        request.now);
  }

  Cost cancel(const host::Subject& subject, Instant now, std::size_t ticket) override {
    const std::string& grant = grants_.at(ticket);
    if (grant.empty()) return 0;
    return given("WEIR.CANCEL", subject, now, grant);
  }
  Cost refund(const host::Subject& subject, Instant now, Cost units) override {
    return given("WEIR.REFUND", subject, now, std::to_string(units));
  }
  Cost leave(const host::Subject& subject, Instant now, PermitId permit) override {
    return given("WEIR.LEAVE", subject, now, std::to_string(static_cast<std::int64_t>(permit)));
  }
  Span renew(const host::Subject& subject, Instant now, PermitId permit) override {
    return Span{
        given("WEIR.RENEW", subject, now, std::to_string(static_cast<std::int64_t>(permit)))};
  }

  bool reset(const host::Subject& subject, Instant now) override {
    const wire::Reply reply =
        ask(now, {"WEIR.RESET", std::string(subject.key), subject.limit.text()});
    return reply.integer == 1;
  }

  std::optional<Limit::State> stored(const host::Subject& subject) override {
    const std::string key = redis::stored_key({subject.key, subject.limit.text()});
    const auto bytes = server_.get(key);
    if (!bytes) return Limit::State{};
    EXPECT_TRUE(server_.is_mortal(key)) << "an immortal key";
    auto state = redis::read_stored(*bytes);
    EXPECT_TRUE(state) << "no state: " << testing::PrintToString(*bytes);
    return state;
  }

  /// What an instant in the past is told as: nothing but that it is past.
  static Decision decision_in(const wire::Reply& reply, Instant now) {
    const auto number = [&](const char* field) {
      const wire::Reply* at = reply.field(field);
      EXPECT_NE(at, nullptr) << field;
      return at ? at->integer : 0;
    };
    Decision decision;
    const wire::Reply* verdict = reply.field("verdict");
    for (const Verdict each :
         {Verdict::granted, Verdict::deferred, Verdict::denied, Verdict::impossible}) {
      if (verdict && verdict->text == weir::name(each)) decision.verdict = each;
    }
    if (decision.verdict != Verdict::impossible) {
      const bool taken_now = taken(decision.verdict);
      decision.ready_at = now + Span{number(taken_now ? "ready_after_us" : "retry_after_us")};
    }
    decision.limit = number("limit");
    decision.remaining = number("remaining");
    decision.reset_at = now + Span{number("reset_after_us")};
    return decision;
  }

 protected:
  wire::Reply ask(Instant now, const std::vector<std::string>& command) {
    server_.set_time(now);
    const wire::Reply reply = server_.run(command);
    EXPECT_NE(reply.type, wire::ReplyType::error) << reply.text;
    return reply;
  }

 private:
  Cost given(const char* command, const host::Subject& subject, Instant now,
             const std::string& what) {
    return ask(now, {command, std::string(subject.key), subject.limit.text(), what}).integer;
  }

  ModuleServer& server_;
  std::map<std::size_t, std::string> grants_;
};

}  // namespace weir::module
