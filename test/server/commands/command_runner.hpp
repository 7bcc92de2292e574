// Runs commands against a service of its own, with a clock that the test sets.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/commands.hpp"
#include "wire/resp_reader.hpp"
#include "wire/resp_request.hpp"

namespace weir::test {

struct NamedLimit {
  std::string name;
  std::string limit;
};
using Named = std::vector<NamedLimit>;

class CommandRunner {
 public:
  explicit CommandRunner(const Named& limits = {}, const Table::Settings& settings = {})
      : service_(with(limits), settings) {}

  /// The time in microseconds since the epoch.
  Instant now{Span{1'795'163'520'000'000}};

  /// Runs a line of words, quoted as in redis-cli; the reply's bytes.
  std::string bytes(std::string_view line) {
    wire::RequestParser parser;
    wire::Arguments arguments;
    const std::string text = std::string(line) + "\r\n";
    const auto parsed = parser.parse(text, arguments);
    if (parsed.status != wire::RequestStatus::complete) return parser.explain(parsed);
    wire::ReplyWriter reply(connection_.replies.tail(), connection_.protocol);
    context_.now = now;
    context_.connection = &connection_;
    server::run_command(context_, arguments, reply);
    return std::exchange(connection_.replies.ready(), {});
  }

  /// The same, read back as a client would.
  wire::Reply run(std::string_view line) {
    wire::ReplyReader reader;
    wire::Reply reply;
    const std::string out = bytes(line);
    const auto read = reader.read(out, reply);
    if (read.status != wire::ReadStatus::complete || read.consumed != out.size()) {
      throw std::runtime_error("not one reply: " + out);
    }
    return reply;
  }

  /// The integers of an array, as CL.THROTTLE answers.
  std::vector<std::int64_t> integers(std::string_view line) {
    std::vector<std::int64_t> numbers;
    for (const wire::Reply& element : run(line).elements) numbers.push_back(element.integer);
    return numbers;
  }

  std::string error(std::string_view line) {
    const wire::Reply reply = run(line);
    return reply.type == wire::ReplyType::error ? reply.text : "no error";
  }

  server::Service& service() { return service_; }
  server::Connection& connection() { return connection_; }
  server::HotKeys& hot_keys() { return hot_keys_; }

 private:
  Rules& with(const Named& limits) {
    for (const NamedLimit& each : limits) rules_.add({each.name, each.limit}).value();
    return rules_;
  }

  Rules rules_;
  server::Service service_;
  server::RuleCache cache_{rules_};
  server::Connection connection_;
  server::HotKeys& hot_keys_{service_.hot_keys.add_worker(now)};
  server::CommandContext context_{{{service_, service_.metrics.add_worker(), hot_keys_}, cache_}};
};

}  // namespace weir::test
