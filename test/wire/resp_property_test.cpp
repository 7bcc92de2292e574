// Properties of the RESP codecs over seeded random streams.
#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>

#include "test/wire/resp_transcript.hpp"

namespace weir::wire {
namespace {

constexpr std::uint64_t seeds = 300;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}

  std::size_t below(std::size_t end) { return engine_() % end; }
  std::int64_t integer() { return static_cast<std::int64_t>(engine_()) >> below(64); }

  template <typename Value>
  Value one_of(std::initializer_list<Value> values) {
    return values.begin()[below(values.size())];
  }

  std::string bytes(std::size_t longest) {
    std::string text(below(longest + 1), '\0');
    for (char& byte : text) {
      byte = below(4) == 0 ? one_of({'\r', '\n', '\0', '"', '\\', '$', '*'})
                           : static_cast<char>(below(256));
    }
    return text;
  }

 private:
  std::mt19937_64 engine_;
};

std::vector<std::string> random_command(Dice& dice) {
  std::vector<std::string> command(1 + dice.below(6));
  for (std::string& argument : command) argument = dice.bytes(dice.below(8) == 0 ? 300 : 12);
  return command;
}

std::string framed(const std::vector<std::string>& command) {
  std::string bytes;
  const Arguments arguments(command.begin(), command.end());
  write_request(bytes, arguments);
  return bytes;
}

/// A stream of frames and lines, whole and broken ones.
std::string random_requests(Dice& dice) {
  std::string bytes;
  for (std::size_t i = 0; i != 3; ++i) {
    bytes += framed(random_command(dice));
    bytes +=
        dice.one_of({"", "", "\r\n", "*0\r\n", "*-1\r\n", "PING 'a b'\n", "a \"\\x41\" b\r\n"});
  }
  bytes +=
      dice.one_of({"", "*2\r\n$1\r\na\r\n", "*9", "*1\r\n:1\r\n", "'a", "'a\n", "$5\r\n", "*99"});
  if (dice.below(3) == 0) bytes[dice.below(bytes.size())] = dice.bytes(1).append("\r")[0];
  return bytes;
}

Reply random_reply(Dice& dice, std::size_t depth) {
  using enum ReplyType;
  const auto type =
      dice.one_of({null, simple, error, ReplyType::integer, bulk, boolean, array, map});
  switch (type) {
    case simple:
    case error:
    case bulk: return {.type = type, .text = dice.bytes(40)};
    case ReplyType::integer: return {.type = type, .integer = dice.integer()};
    case boolean: return {.type = type, .integer = static_cast<std::int64_t>(dice.below(2))};
    case array:
    case map: {
      Reply aggregate{.type = type};
      if (depth == 0) return aggregate;
      aggregate.elements.resize(2 * dice.below(4));
      for (Reply& element : aggregate.elements) element = random_reply(dice, depth - 1);
      return aggregate;
    }
    default: return {};
  }
}

TEST(RespProperty, WhatWriteRequestWritesTheParserReads) {
  for (std::uint64_t seed = 0; seed != seeds; ++seed) {
    Dice dice(seed);
    RequestParser parser;
    std::string bytes;
    std::vector<std::vector<std::string>> commands;
    for (std::size_t i = 0; i != 5; ++i) {
      commands.push_back(random_command(dice));
      bytes += framed(commands.back());
    }
    const RequestTranscript heard = hear_requests(parser, {bytes});
    EXPECT_EQ(heard.commands, commands) << "seed " << seed;
    EXPECT_EQ(heard.left, 0u) << "seed " << seed;
  }
}

TEST(RespProperty, RequestsSplitAtEveryByteAreTheSameRequests) {
  for (std::uint64_t seed = 0; seed != seeds; ++seed) {
    Dice dice(seed);
    // Small limits, so that the streams meet them too.
    RequestParser parser({.inline_bytes = 16,
                          .argument_bytes = dice.one_of<std::size_t>({9, 250}),
                          .frame_bytes = 400});
    const std::string bytes = random_requests(dice);
    const RequestTranscript whole = hear_requests(parser, {bytes});
    EXPECT_EQ(hear_requests(parser, byte_by_byte(bytes)), whole) << "seed " << seed;
    for (std::size_t where = 0; where <= bytes.size(); ++where) {
      ASSERT_EQ(hear_requests(parser, split_at(bytes, where)), whole)
          << "seed " << seed << ", split at " << where;
    }
    EXPECT_FALSE(whole.needed_misled) << "seed " << seed;
  }
}

TEST(RespProperty, WhatTheWriterWritesTheReaderReads) {
  for (std::uint64_t seed = 0; seed != seeds; ++seed) {
    for (const Protocol protocol : {Protocol::resp2, Protocol::resp3}) {
      Dice dice(seed);
      std::string bytes;
      ReplyWriter writer(bytes, protocol);
      ReplyTranscript said;
      for (std::size_t i = 0; i != 5; ++i) {
        const Reply reply = random_reply(dice, 3);
        write_reply(writer, reply);
        said.replies.push_back(as_spoken(reply, protocol));
      }
      said.status = ReadStatus::complete;
      EXPECT_EQ(hear_replies(ReplyReader(), {bytes}), said) << "seed " << seed;
    }
  }
}

TEST(RespProperty, RepliesSplitAtEveryByteAreTheSameReplies) {
  for (std::uint64_t seed = 0; seed != seeds; ++seed) {
    Dice dice(seed);
    std::string bytes;
    ReplyWriter writer(bytes, Protocol::resp3);
    for (std::size_t i = 0; i != 3; ++i) {
      write_reply(writer, random_reply(dice, 3));
      bytes += dice.one_of({"", ",1.5\r\n", "=7\r\ntxt:abc\r\n", "(12345\r\n", "~1\r\n+a\r\n",
                            "|1\r\n+a\r\n:1\r\n", ">1\r\n_\r\n", "!3\r\nE a\r\n"});
    }
    bytes += dice.one_of({"", "$5\r\nabc", "*2\r\n:1\r\n", "+abc", "+abc\r", "?", "$1\r\nab"});
    if (dice.below(3) == 0) bytes[dice.below(bytes.size())] = dice.bytes(1).append("\r")[0];

    // Small limits, so that the streams meet them too.
    const ReplyReader reader({.depth = 3, .elements = 40, .line_bytes = 38, .reply_bytes = 300});
    ReplyTranscript whole = hear_replies(reader, {bytes});
    ASSERT_EQ(hear_replies(reader, byte_by_byte(bytes)), whole) << "seed " << seed;
    for (std::size_t where = 0; where <= bytes.size(); ++where) {
      ASSERT_EQ(hear_replies(reader, split_at(bytes, where)), whole)
          << "seed " << seed << ", split at " << where;
    }
  }
}

}  // namespace
}  // namespace weir::wire
