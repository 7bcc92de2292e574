#include "bench/peer.hpp"

#include <unistd.h>

#include <ctime>
#include <stdexcept>
#include <utility>

#include "test/server/load/redis_gcra.hpp"
#include "test/server/load/resp_load.hpp"

namespace weir::bench {
namespace {

using load::Answer;

constexpr load::ThrottleLimit thirty_a_minute{.max_burst = 15, .count = 30, .period_s = 60};

std::optional<std::string> missing(const std::string& program) {
  if (access(program.c_str(), X_OK) == 0) return std::nullopt;
  return "no program at " + program;
}

/// The burst one by one, as redis-cell counts it down, and then a refusal.
std::optional<std::string> wrong_throttling(const Running& running) {
  load::Conversation conversation(running.port);
  const std::string key = "verified";
  const Answer first = conversation.ask(running.question, key);
  const Answer expected{
      .admitted = true, .limit = 16, .remaining = 15, .retry_after = -1, .reset_after = 2};
  if (first != expected) return "the first answer is not 0 16 15 -1 2";
  for (std::int64_t remaining = 14; remaining >= 0; --remaining) {
    const Answer answer = conversation.ask(running.question, key);
    if (!answer.admitted || answer.limit != 16 || answer.remaining != remaining) {
      return "the burst is not counted down one by one";
    }
  }
  const Answer refused = conversation.ask(running.question, key);
  const bool right = !refused.admitted && refused.limit == 16 && refused.remaining == 0 &&
                     refused.retry_after == 2 && refused.reset_after == 32;
  return right ? std::nullopt : std::optional<std::string>("the 17th answer is not 1 16 0 2 32");
}

class Floor : public Peer {
 public:
  explicit Floor(std::string program) : program_(std::move(program)) {}
  std::string name() const override { return "floor"; }
  std::string answers() const override { return "a constant, not decided"; }
  std::optional<std::string> absence() const override { return missing(program_); }

  Running start() const override {
    auto server = std::make_unique<test::ServerProcess>(
        test::ServerCommand{.arguments = {program_, "127.0.0.1:0"}, .listeners = {"resp"}});
    const std::uint16_t port = server->port("resp");
    return {std::move(server), port, load::throttle(thirty_a_minute)};
  }

  std::optional<std::string> wrong_answer(const Running&) const override { return std::nullopt; }

 private:
  std::string program_;
};

class Weir : public Peer {
 public:
  explicit Weir(std::string program) : program_(std::move(program)) {}
  std::string name() const override { return "weir"; }
  std::string answers() const override { return "CL.THROTTLE, verified"; }
  std::optional<std::string> absence() const override { return missing(program_); }

  Running start() const override {
    auto server = std::make_unique<test::ServerProcess>(test::ServerCommand{
        .arguments = {program_, "serve", "--threads", "1", "--resp", "127.0.0.1:0", "--metrics",
                      "127.0.0.1:0", "--http", "off", "--grpc", "off"},
        .listeners = {"resp"}});
    const std::uint16_t port = server->port("resp");
    return {std::move(server), port, load::throttle(thirty_a_minute)};
  }

  std::optional<std::string> wrong_answer(const Running& running) const override {
    return wrong_throttling(running);
  }

 private:
  std::string program_;
};

class Redis : public Peer {
 public:
  std::optional<std::string> absence() const override {
    return load::redis_command(0) ? std::nullopt
                                  : std::optional<std::string>("redis-server is not installed");
  }

 protected:
  static Running started() {
    const std::uint16_t port = test::unused_port();
    return {std::make_unique<test::ServerProcess>(load::redis_command(port).value()), port, {}};
  }
};

class RedisScript : public Redis {
 public:
  std::string name() const override { return "redis-lua"; }
  std::string answers() const override { return "GCRA by EVALSHA, verified"; }

  Running start() const override {
    Running running = started();
    load::Conversation conversation(running.port);
    running.question = load::load_script(conversation, load::Script::gcra,
                                         {.burst = 16, .interval_us = 2'000'000});
    return running;
  }

  std::optional<std::string> wrong_answer(const Running& running) const override {
    return wrong_throttling(running);
  }
};

class RedisIncrement : public Redis {
 public:
  std::string name() const override { return "redis-incr"; }
  std::string answers() const override { return "plain INCR, no limit"; }

  Running start() const override {
    Running running = started();
    running.question = load::increment();
    return running;
  }

  std::optional<std::string> wrong_answer(const Running& running) const override {
    load::Conversation conversation(running.port);
    for (std::int64_t value = 1; value <= 3; ++value) {
      if (conversation.ask(running.question, "verified").value != value) {
        return "INCR does not count";
      }
    }
    return std::nullopt;
  }
};

}  // namespace

std::unique_ptr<Peer> peer_named(const std::string& name, const Programs& programs) {
  if (name == "floor") return std::make_unique<Floor>(programs.floor);
  if (name == "weir") return std::make_unique<Weir>(programs.weir);
  if (name == "redis-lua") return std::make_unique<RedisScript>();
  if (name == "redis-incr") return std::make_unique<RedisIncrement>();
  return nullptr;
}

std::chrono::nanoseconds cpu_time(pid_t pid) {
  clockid_t clock{};
  timespec time{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) {
    throw std::runtime_error("the processor time of the server cannot be read");
  }
  return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

}  // namespace weir::bench
