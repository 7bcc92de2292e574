// The same bytes to redis-server and to our parser: both must understand the same commands, and
// leave the connection in the same standing.
#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "test/wire/redis_server.hpp"
#include "test/wire/resp_transcript.hpp"

namespace weir::wire {
namespace {

using namespace std::string_literals;

enum class Standing {
  open,    // all commands answered, ready for the next
  waits,   // a command is half there
  closed,  // protocol error
};

std::ostream& operator<<(std::ostream& out, Standing standing) {
  constexpr const char* names[] = {"open", "waits", "closed"};
  return out << names[static_cast<int>(standing)];
}

struct Verdict {
  std::size_t answers = 0;          // to commands that are not empty; a protocol error is none
  std::vector<std::string> echoed;  // what ECHO was told, as a check on the arguments
  Standing standing = Standing::open;

  bool operator==(const Verdict&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Verdict& verdict) {
  return out << verdict.answers << " answers, " << verdict.echoed.size() << " echoes, "
             << verdict.standing;
}

Verdict our_verdict(std::string_view bytes, RequestLimits limits = {}) {
  RequestParser parser(limits);
  const RequestTranscript heard = hear_requests(parser, {bytes});
  Verdict verdict;
  for (const auto& command : heard.commands) {
    verdict.answers += command.empty() ? 0 : 1;
    if (command.size() == 2 && command[0] == "ECHO") verdict.echoed.push_back(command[1]);
  }
  if (heard.status == RequestStatus::malformed) {
    verdict.standing = Standing::closed;
  } else if (heard.left != 0) {
    verdict.standing = Standing::waits;
  }
  return verdict;
}

class RespAgainstRedis : public testing::Test {
 protected:
  static void SetUpTestSuite() { server = std::make_unique<RedisServer>(); }
  static void TearDownTestSuite() { server.reset(); }

  /// Everything that Redis answers to `bytes` when nothing more comes behind them.
  static std::vector<Reply> all_answers(std::string_view bytes) {
    Connection connection(server->port());
    connection.send(bytes);
    connection.finish();
    const Heard heard = connection.hear_all();
    EXPECT_TRUE(heard.closed);
    return hear_replies(ReplyReader(), {heard.bytes}).replies;
  }

  static bool closes_by_itself(std::string_view bytes) {
    Connection connection(server->port());
    connection.send(bytes);
    return connection.hear_all().closed;
  }

  static Verdict redis_verdict(const std::string& bytes) {
    std::vector<Reply> answers = all_answers(bytes);
    Verdict verdict;
    const bool refused = !answers.empty() && answers.back().type == ReplyType::error &&
                         answers.back().text.starts_with("ERR Protocol error: ");
    if (refused) {
      EXPECT_TRUE(closes_by_itself(bytes));
      answers.pop_back();
      verdict.standing = Standing::closed;
    }
    verdict.answers = answers.size();
    for (const Reply& answer : answers) {
      if (answer.type == ReplyType::bulk) verdict.echoed.push_back(answer.text);
    }
    if (refused) return verdict;
    // Only a connection that waits for nothing answers one more command with one more answer.
    const std::vector<Reply> with_probe =
        all_answers(bytes + "*2\r\n$4\r\nECHO\r\n$5\r\nprobe\r\n");
    const bool open = with_probe.size() == answers.size() + 1 && with_probe.back().text == "probe";
    verdict.standing = open ? Standing::open : Standing::waits;
    return verdict;
  }

  static Reply answer_in_resp3(const std::string& command) {
    Connection connection(server->port());
    connection.send("HELLO 3\r\n" + command + "\r\n");
    ReplyReader reader;
    std::vector<Reply> replies;
    std::string bytes;
    while (replies.size() != 2) {
      if (bytes.empty()) bytes = connection.hear().bytes;
      Reply reply;
      const ReadReply read = reader.read(bytes, reply);
      bytes.erase(0, read.consumed);
      if (read.consumed == 0) {
        ADD_FAILURE() << command << ": " << describe(read.fault);
        return {};
      }
      if (read.status == ReadStatus::complete) replies.push_back(std::move(reply));
    }
    const Reply* protocol = replies[0].field("proto");
    EXPECT_TRUE(protocol != nullptr && protocol->integer == 3) << command;
    return replies[1];
  }

  static std::unique_ptr<RedisServer> server;
};

std::unique_ptr<RedisServer> RespAgainstRedis::server;

TEST_F(RespAgainstRedis, CommandsAreUnderstoodAlike) {
  for (const std::string& bytes :
       {"PING\r\n"s,
        "PING\n"s,
        "  PING  \r\n"s,
        "\r\n\r\n"s,
        "\n"s,
        " \t\v\f\r\n"s,
        "*0\r\n"s,
        "*-1\r\n"s,
        "*-2\r\n"s,
        "*-9\r\nPING\r\n"s,
        "PING"s,
        "PING\r"s,
        "*"s,
        "*1\r"s,
        "*1\r\n"s,
        "*1\r\n$4\r\n"s,
        "*1\r\n$4\r\nPING"s,
        "*1\r\n$4\r\nPING\r"s,
        "*1\r\n$4\r\nPING\r\n"s,
        "*2\r\n$4\r\nECHO\r\n$0\r\n\r\n"s,
        "*2\r\n$4\r\nECHO\r\n$5\r\n\0\r\n\xff*\r\n"s,
        "*2\r\n$4\r\nNONE\r\n$65536\r\n"s + std::string(65536, 'x') + "\r\n",
        "*1\r\n$0\r\n\r\n"s,
        "*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n"s,
        "$4\r\nPING\r\n"s,
        "|1\r\n"s,
        ":1\r\n"s,
        ">1\r\n"s,
        "*1\r\n$4\r\nPING\r\nPING\r\n*0\r\n\r\n*1\r\n$4\r\nPI"s,
        "ECHO "s + std::string(4091, 'x') + "\r\n"}) {
    EXPECT_EQ(our_verdict(bytes), redis_verdict(bytes)) << bytes.substr(0, 100);
  }
}

TEST_F(RespAgainstRedis, QuotesAndEscapesMeanTheSame) {
  for (const char* words : {R"("a b")",
                            R"('a b')",
                            R"("\x41\xff\x0a\xZZ\x4")",
                            R"("\n\r\t\b\a\\\"\q")",
                            R"('it\'s')",
                            R"('a\n\x41')",
                            R"(a"b c")",
                            R"(a'b c')",
                            R"("")",
                            R"('')",
                            R"("a"b)",
                            R"('a'b)",
                            R"("a)",
                            R"('a)",
                            R"("a\)",
                            R"("a\")",
                            R"('a\')",
                            R"(a\x41\n)",
                            R"(\"a b\")",
                            "a\vb",
                            "a\fb",
                            "\"a\"\vb",
                            "\"a\"\f",
                            "\v\fa",
                            "a\rb",
                            "\"a\rb\"",
                            "\xff\x80",
                            R"("a""b")",
                            R"("a" 'b')",
                            R"("\)",
                            R"(")",
                            R"(')",
                            R"("\x)",
                            R"("\x4)",
                            R"("\x41)"}) {
    for (const char* end : {"\r\n", "\n"}) {
      const std::string bytes = "ECHO "s + words + end;
      EXPECT_EQ(our_verdict(bytes), redis_verdict(bytes)) << bytes;
    }
  }
}

TEST_F(RespAgainstRedis, MalformedFramesAreRefusedAlike) {
  for (const char* start : {"", "PING\r\n", "*1\r\n$4\r\nPING\r\n"}) {
    for (const char* malformed : {"*\r\n",
                                  "*00\r\n",
                                  "*01\r\n",
                                  "*+1\r\n",
                                  "*-0\r\n",
                                  "*-\r\n",
                                  "* 1\r\n",
                                  "*1 \r\n",
                                  "*1.\r\n",
                                  "*a\r\n",
                                  "*?\r\n",
                                  "**1\r\n",
                                  "*--1\r\n",
                                  "*1\nPING\r\n",
                                  "*0x1\r\n",
                                  "*2147483648\r\n",
                                  "*9223372036854775807\r\n",
                                  "*9223372036854775808\r\n",
                                  "*99999999999999999999\r\n",
                                  "*1\r\n:1\r\n",
                                  "*1\r\n*1\r\n",
                                  "*1\r\n|1\r\n",
                                  "*1\r\nPING\r\n",
                                  "*1\r\n\r\n",
                                  "*1\r\n+OK\r\n",
                                  "*1\r\n$\r\n",
                                  "*1\r\n$-1\r\n",
                                  "*1\r\n$-2\r\n",
                                  "*1\r\n$00\r\n",
                                  "*1\r\n$04\r\n",
                                  "*1\r\n$+4\r\n",
                                  "*1\r\n$ 4\r\n",
                                  "*1\r\n$4 \r\n",
                                  "*1\r\n$?\r\n",
                                  "*1\r\n$a\r\n",
                                  "*1\r\n$4\nPING\r\n",
                                  "*1\r\n$0x4\r\n",
                                  "*1\r\n$9223372036854775807\r\n",
                                  "*1\r\n$9223372036854775808\r\n",
                                  "*1\r\n$536870913\r\n",
                                  "*2\r\n$4\r\nECHO\r\nxx\r\n"}) {
      const std::string bytes = start + std::string(malformed);
      const Verdict verdict = our_verdict(bytes);
      EXPECT_EQ(verdict.standing, Standing::closed) << bytes;
      EXPECT_EQ(verdict, redis_verdict(bytes)) << bytes;
    }
  }
}

// Where we differ, and why. Each row pins both sides, so that a change in either is seen.
TEST_F(RespAgainstRedis, TheDifferencesAreTheseAndDeliberate) {
  struct Row {
    const char* why;
    std::string bytes;
    Standing ours;
    Standing redis;
  };
  using enum Standing;
  const Row rows[] = {
      {"lower limit: arguments", "*65\r\n", closed, waits},
      {"lower limit: arguments, in a line",
       [] {
         std::string line = "PING";
         for (int i = 0; i != 64; ++i) line += " a";
         return line + "\r\n";
       }(),
       closed, open},
      {"lower limit: bytes of an argument", "*1\r\n$65537\r\n", closed, waits},
      {"lower limit: bytes of a frame",
       "*5\r\n$1\r\na\r\n" +
           [] {
             std::string bytes;
             for (int i = 0; i != 3; ++i) bytes += "$65536\r\n" + std::string(65536, 'x') + "\r\n";
             return bytes;
           }() +
           "$65536\r\n",
       closed, waits},
      {"lower limit: bytes of a line", "PING " + std::string(4092, 'x') + "\r\n", closed, open},
      {"lower limit: bytes of a line with no end", std::string(4098, 'x'), closed, waits},
      {"a count below -2^60 has no use", "*-1152921504606846977\r\n", closed, open},
      {"Redis does not look at what follows CR", "*1\rX$4\r\nPING\r\n", closed, open},
      {"Redis does not look at what follows CR", "*1\r\n$4\rXPING\r\n", closed, open},
      {"Redis does not look at what follows an argument", "*1\r\n$4\r\nPINGxx", closed, open},
      {"Redis does not look at what follows an argument", "*1\r\n$4\r\nPING\n\r", closed, open},
      {"Redis never sees the end of a line behind NUL", "PING\0\r\n"s, closed, waits},
      {"Redis looks at a line only when it is whole", "*1\r\nPING", closed, waits},
      {"Redis looks at a line only when it is whole", "*x", closed, waits},
      {"Redis looks at a line only when it is whole", "*1\r\n$x", closed, waits},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(our_verdict(row.bytes).standing, row.ours) << row.why;
    EXPECT_EQ(redis_verdict(row.bytes).standing, row.redis) << row.why;
  }
}

TEST_F(RespAgainstRedis, RandomStreamsAreUnderstoodAlike) {
  const char* const fragments[] = {"*1\r\n",
                                   "*2\r\n",
                                   "*0\r\n",
                                   "*-1\r\n",
                                   "$4\r\nPING\r\n",
                                   "$4\r\nECHO\r\n",
                                   "$1\r\nx\r\n",
                                   "$0\r\n",
                                   "\r\n",
                                   "\n",
                                   "\r",
                                   "PING\r\n",
                                   "ECHO ",
                                   "\"",
                                   "'",
                                   "\\x41",
                                   "\\",
                                   "\\n",
                                   "a",
                                   " ",
                                   "\t",
                                   "\v",
                                   "$",
                                   "*",
                                   "1",
                                   "0",
                                   "-",
                                   "\xc3",
                                   "*2\r\n$4\r\nECHO\r\n$1\r\n",
                                   "ECHO \"a b\"",
                                   "\r\n"};
  for (std::uint64_t seed = 0; seed != 1500; ++seed) {
    std::mt19937_64 dice(seed);
    std::string bytes;
    for (std::size_t left = 1 + dice() % 8; left != 0; --left) {
      bytes += fragments[dice() % std::size(fragments)];
    }
    RequestParser parser;
    const RequestTranscript heard = hear_requests(parser, {bytes});
    const Verdict ours = our_verdict(bytes);
    const Verdict redis = redis_verdict(bytes);
    if (heard.fault == RequestFault::line_end || heard.fault == RequestFault::argument_end) {
      EXPECT_GE(redis.answers, ours.answers) << "seed " << seed << ": " << bytes;
    } else if (ours.standing == Standing::closed && redis.standing == Standing::waits) {
      // We refused before the line was whole; Redis must once it is.
      EXPECT_EQ(redis_verdict(bytes + "\r\n").standing, Standing::closed)
          << "seed " << seed << ": " << bytes;
    } else {
      EXPECT_EQ(ours, redis) << "seed " << seed << ": " << bytes;
    }
  }
}

TEST_F(RespAgainstRedis, TheReaderReadsEveryTypeThatRedisSends) {
  using enum ReplyType;
  const auto answer = [](const std::string& command) { return answer_in_resp3(command); };
  EXPECT_EQ(answer("DEBUG PROTOCOL string").text, "Hello World");
  EXPECT_EQ(answer("DEBUG PROTOCOL integer").integer, 12345);
  EXPECT_DOUBLE_EQ(answer("DEBUG PROTOCOL double").number, 3.141);
  EXPECT_EQ(answer("DEBUG PROTOCOL null"), Reply{});
  EXPECT_EQ(answer("DEBUG PROTOCOL array").elements.size(), 3u);
  EXPECT_EQ(answer("DEBUG PROTOCOL set").type, set);
  EXPECT_EQ(answer("DEBUG PROTOCOL map").type, map);
  EXPECT_EQ(answer("DEBUG PROTOCOL map").elements.size(), 6u);
  EXPECT_EQ(answer("DEBUG PROTOCOL attrib").text, "Some real reply following the attribute");
  EXPECT_EQ(answer("DEBUG PROTOCOL verbatim").text, "This is a verbatim\nstring");
  EXPECT_EQ(answer("DEBUG PROTOCOL true").type, boolean);
  EXPECT_EQ(answer("DEBUG PROTOCOL true").integer, 1);
  EXPECT_EQ(answer("DEBUG PROTOCOL false").integer, 0);
  EXPECT_EQ(answer("DEBUG PROTOCOL bignum").text, "1234567999999999999999999999999999999");
  EXPECT_EQ(answer("NO SUCH COMMAND").type, error);
  EXPECT_EQ(answer("SUBSCRIBE channel").type, push);
  EXPECT_GT(answer("COMMAND").elements.size(), 200u);
}

}  // namespace
}  // namespace weir::wire
