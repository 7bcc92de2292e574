// Commands of a seeded grammar, right and wrong, to a server with the module: it must live, and
// keep nothing for ever. WEIR_FUZZ_SECONDS has it take longer, WEIR_FUZZ_SEED begin elsewhere.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <random>

#include "redis/stored_key.hpp"
#include "test/module/real_server.hpp"
#include "wire/integer.hpp"

namespace weir::module {
namespace {

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  const auto number = wire::strict_integer(text ? text : "");
  return number ? static_cast<std::uint64_t>(*number) : otherwise;
}

class Grammar {
 public:
  explicit Grammar(std::uint64_t seed) : random_(seed) {}

  /// Mostly the module's, now and then a command that disturbs its keys.
  Words next() {
    Words command = below(10) == 0 ? disturbing() : ours();
    if (below(8) == 0) mutate(command);
    switch (below(40)) {
      case 0: return in_lua(std::move(command));
      case 1: command.insert(command.begin(), {"COMMAND", "GETKEYS"}); return command;
      default: return command;
    }
  }

  /// What a server told, for commands that want it back.
  void remember(const wire::Reply& reply) {
    for (const char* name : {"grant", "permit"}) {
      const wire::Reply* const told = reply.field(name);
      if (told && !told->text.empty()) told_[below(told_.size())] = told->text;
    }
  }

 private:
  std::size_t below(std::size_t end) { return random_() % end; }

  template <std::size_t Count>
  std::string one_of(const char* const (&choices)[Count]) {
    return choices[below(Count)];
  }

  std::string bytes() {
    std::string some(below(40), '\0');
    for (char& byte : some) byte = static_cast<char>(random_());
    return some;
  }

  std::string key() {
    if (below(20) == 0) return bytes();
    return one_of({"a", "b", "c", "{t}", "%", "", "\xff\xfe", "user:7"});
  }

  std::string number() {
    if (below(5) < 3) return std::to_string(1 + below(6));
    if (below(4) == 0) return std::to_string(static_cast<std::int64_t>(random_() >> below(64)));
    return one_of({"0",
                   "1",
                   "2",
                   "3",
                   "16",
                   "17",
                   "60",
                   "-1",
                   "-2",
                   "9223372036854775807",
                   "-9223372036854775808",
                   "9223372036854775808",
                   "1e3",
                   "",
                   "0x1",
                   "00",
                   "+1",
                   "9007199254740993",
                   "4611686018427387904",
                   "1152921504606846976"});
  }

  std::string limit() {
    if (below(8) == 0) {
      return one_of({"", "fixed-window ", "sliding-log ", "leaky-bucket ", "concurrency ",
                     "calendar-window "}) +
             number() + "/" + number() + one_of({"s", "ms", "us", "h", "d", ""});
    }
    return one_of({"5/1s", "100/1s burst 7", "leaky-bucket 10/1s queue 5", "fixed-window 3/100ms",
                   "sliding-window 6/70ms parts 3", "sliding-log 40/1s", "5/1s block 300ms",
                   "10/1s burst 3 & 20/1m", "concurrency 3/1s", "concurrency 900/1s",
                   "concurrency 4/2s block 300ms & 10/1s", "sliding-log 500/10s", "@login",
                   "@nobody", "5/1s initial 0", "5/0s", "&", "1M/1us"});
  }

  std::string told_limit() {
    return one_of({"t 60000000 200000 0 1 5", "t 60000000 333333 1 3 7", "l 5000000 100000 0 1 6",
                   "f 0 3 100000", "w 60000000 6 23334 4", "o 60000000 40 1000000",
                   "c 60000000 3 1000000", "m 60000000 2 300000 t 200000 0 1 5 0 f 3 100000",
                   "o 60000000 100000 1125899906842624",
                   "t 1125899906842624 0 1 4503599627370496 1", "t 0", "m 0 9", ""});
  }

  Words function() {
    switch (below(5)) {
      case 0:
      case 1:
        return {one_of({"WEIR_1.TAKE", "WEIR_1.PEEK"}), "1", key(), told_limit(), number(),
                below(2) == 0 ? "-1" : number()};
      case 2:
        return {"WEIR_1.TAKE", "2",      key(),    key(),   told_limit(),
                told_limit(),  number(), number(), number()};
      case 3:
        return {"WEIR_1.CANCEL", "1", key(), told_limit(), number(), number(), number(), number()};
      default:
        return {one_of({"WEIR_1.REFUND", "WEIR_1.RELEASE", "WEIR_1.RENEW"}), "1", key(),
                told_limit(), number()};
    }
  }

  Words ours() {
    switch (below(13)) {
      case 11:
      case 12: return function();
      case 0:
      case 1: return {"CL.THROTTLE", key(), number(), number(), number()};
      case 2: return {"CL.THROTTLE", key(), "15", "30", "60", number()};
      case 3: return {"WEIR.TAKE", key(), limit(), "COST", number(), "PATIENCE", number()};
      case 4: return {"WEIR.PEEK", key(), limit(), "COST", number()};
      case 5: return take_all();
      case 6: return {"WEIR.CANCEL", key(), limit(), told_[below(told_.size())]};
      case 7:
        if (below(4) == 0) return {"WEIR.REFUND", key(), limit(), number(), "ID", number()};
        return {"WEIR.REFUND", key(), limit(), number()};
      case 8: return {"WEIR.RESET", key(), limit()};
      case 9: return {"WEIR.ENTER", key(), limit(), "WEIGHT", number()};
      default:
        return {one_of({"WEIR.LEAVE", "WEIR.RENEW"}), key(), limit(), told_[below(told_.size())]};
    }
  }

  Words take_all() {
    const std::size_t count = below(18);
    Words command{"WEIR.TAKEALL", below(8) == 0 ? number() : std::to_string(count)};
    for (std::size_t at = 0; at < count; ++at) command.push_back(key());
    for (std::size_t at = 0; at < count; ++at) command.push_back(limit());
    if (below(2) == 0) {
      command.emplace_back("COSTS");
      for (std::size_t at = 0; at < count; ++at) command.push_back(number());
    }
    return command;
  }

  /// Each leaves what expires.
  Words disturbing() {
    const std::string name = below(2) == 0 ? key() : redis::stored_key({key(), limit()});
    switch (below(6)) {
      case 0: return {"SET", name, bytes(), "PX", "50"};
      case 1: return {"SET", name, number(), "PX", "50"};
      case 2:
        return {"EVAL",
                "redis.call('DEL', KEYS[1]) redis.call('RPUSH', KEYS[1], 'x') "
                "redis.call('PEXPIRE', KEYS[1], 50)",
                "1", name};
      case 3: return {"DEL", name};
      case 4: return {"PEXPIRE", name, "1"};
      default: return below(50) == 0 ? Words{"FLUSHALL", "ASYNC"} : Words{"GET", name};
    }
  }

  /// Other words, fewer, more, or in another order; never another command.
  void mutate(Words& command) {
    if (command[0] == "SET" || command[0] == "EVAL") return;  // they might keep for ever
    for (std::size_t times = 1 + below(3); times > 0 && command.size() > 1; --times) {
      const std::size_t at = 1 + below(command.size() - 1);
      switch (below(5)) {
        case 0: command[at] = bytes(); break;
        case 1: command[at] = number(); break;
        case 2: command.erase(command.begin() + static_cast<std::ptrdiff_t>(at)); break;
        case 3: command.insert(command.end(), below(70), limit()); break;
        default: std::swap(command[at], command.back());
      }
    }
  }

  static Words in_lua(Words command) {
    const std::string call = "return redis.pcall(unpack(ARGV))";
    command.insert(command.begin(), {"EVAL", call, "0"});
    return command;
  }

  std::mt19937_64 random_;
  std::array<std::string, 8> told_;
};

TEST(LiveFuzz, TheServerLivesAndKeepsNothingForEver) {
  const std::uint64_t seed = setting("WEIR_FUZZ_SEED", 1);
  const std::chrono::seconds time(setting("WEIR_FUZZ_SECONDS", 20));
  RealServer server(with_module({"login=5/1m"}));
  Grammar grammar(seed);
  std::size_t calls = 0;
  std::size_t errors = 0;
  Words last;
  try {
    const auto ends_at = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < ends_at) {
      for (int at = 0; at < 5'000; ++at, ++calls) {
        last = grammar.next();
        const wire::Reply reply = server.run(last);
        if (reply.type == wire::ReplyType::error) ++errors;
        grammar.remember(reply);
      }
      ASSERT_EQ(server.immortal_keys(), Words{}) << "seed " << seed << ", after " << calls;
    }
  } catch (const std::runtime_error& gone) {
    FAIL() << gone.what() << ", seed " << seed << ", call " << calls << ": "
           << testing::PrintToString(last) << "\n"
           << server.log_tail();
  }
  std::cout << calls << " commands, " << errors << " errors\n";
  EXPECT_GT(errors, calls / 20);
  EXPECT_LT(errors, calls / 10 * 9);
}

}  // namespace
}  // namespace weir::module
