#include "redis/slots.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weir::redis {
namespace {

const Node asked{"10.0.0.9", 7000};

std::string bulk(std::string_view text) {
  std::string bytes = "$";
  bytes += std::to_string(text.size());
  bytes += "\r\n";
  bytes += text;
  bytes += "\r\n";
  return bytes;
}
std::string node(std::string_view host, int port) {
  return "*3\r\n" + bulk(host) + ":" + std::to_string(port) + "\r\n" + bulk("id");
}

wire::Reply read(const std::string& bytes) {
  wire::Reply reply;
  wire::ReplyReader reader;
  EXPECT_EQ(reader.read(bytes, reply).status, wire::ReadStatus::complete) << bytes;
  return reply;
}

Expected<SlotMap, SlotMapError> map_of(const std::string& bytes) {
  return SlotMap::read(read(bytes), asked);
}

TEST(RedisSlots, Crc16IsTheOneOfClusters) {
  EXPECT_EQ(crc16(""), 0);
  EXPECT_EQ(crc16("123456789"), 0x31C3);
}

// As CLUSTER KEYSLOT of Redis 7.0 answers.
TEST(RedisSlots, AKeyHasTheSlotThatRedisGivesIt) {
  EXPECT_EQ(slot_of("foo"), 12182);
  EXPECT_EQ(slot_of("somekey"), 11058);
  EXPECT_EQ(slot_of("foo{hash_tag}"), 2515);
  EXPECT_EQ(slot_of(""), 0);
}

TEST(RedisSlots, BetweenTheFirstBracesLiesWhatCounts) {
  const auto like = [](std::string_view key) { return crc16(key) % slot_count; };
  EXPECT_EQ(slot_of("{user}:a"), like("user"));
  EXPECT_EQ(slot_of("a{user}b{other}"), like("user"));
  EXPECT_EQ(slot_of("a{{user}}"), like("{user"));
  EXPECT_EQ(slot_of("{}user"), like("{}user")) << "nothing between: the whole key";
  EXPECT_EQ(slot_of("{}{user}"), like("{}{user}")) << "the first braces alone are looked at";
  EXPECT_EQ(slot_of("}user{"), like("}user{"));
  EXPECT_EQ(slot_of("{user"), like("{user"));
}

TEST(RedisSlots, AMapNamesTheMasterOfEverySlot) {
  const auto map = map_of("*2\r\n*4\r\n:0\r\n:8191\r\n" + node("a", 1) + node("b", 2) +
                          "*3\r\n:8192\r\n:16383\r\n" + node("c", 3));
  ASSERT_TRUE(map);
  EXPECT_EQ(map->owned(), slot_count);
  EXPECT_EQ(*map->master_of(0), (Node{"a", 1}));
  EXPECT_EQ(*map->master_of(8191), (Node{"a", 1}));
  EXPECT_EQ(*map->master_of(8192), (Node{"c", 3}));
  EXPECT_EQ(*map->master_of(16383), (Node{"c", 3}));
  EXPECT_EQ(map->nodes(), (std::vector<Node>{{"a", 1}, {"b", 2}, {"c", 3}}));
}

TEST(RedisSlots, AHostLeftOutIsTheNodeThatWasAsked) {
  const auto map = map_of("*2\r\n*3\r\n:0\r\n:1\r\n" + node("", 7001) +
                          "*3\r\n:2\r\n:3\r\n*2\r\n$-1\r\n:7002\r\n");
  ASSERT_TRUE(map);
  EXPECT_EQ(*map->master_of(0), (Node{"10.0.0.9", 7001}));
  EXPECT_EQ(*map->master_of(2), (Node{"10.0.0.9", 7002}));
}

TEST(RedisSlots, SlotsThatNobodyServesHaveNoMaster) {
  const auto map = map_of("*1\r\n*3\r\n:5\r\n:5\r\n" + node("a", 1));
  ASSERT_TRUE(map);
  EXPECT_EQ(map->owned(), 1u);
  EXPECT_EQ(map->master_of(4), nullptr);
  EXPECT_EQ(map->master_of(6), nullptr);
  EXPECT_EQ(SlotMap().master_of(0), nullptr);
  EXPECT_EQ(map_of("*0\r\n")->owned(), 0u);
}

TEST(RedisSlots, AMasterThatNobodyCanReachHasNoSlots) {
  for (const std::string& bad : {node("?", 1), node("a b", 1), node("a", 0), node("a", 65536)}) {
    const auto map = map_of("*1\r\n*3\r\n:0\r\n:9\r\n" + bad);
    ASSERT_TRUE(map) << bad;
    EXPECT_EQ(map->owned(), 0u) << bad;
  }
}

TEST(RedisSlots, AReplyThatIsNoMapIsRefused) {
  for (const std::string& bad :
       {std::string("+OK\r\n"), std::string("*1\r\n:1\r\n"),
        std::string("*1\r\n*2\r\n:0\r\n:1\r\n"), "*1\r\n*3\r\n:0\r\n:16384\r\n" + node("a", 1),
        "*1\r\n*3\r\n:-1\r\n:1\r\n" + node("a", 1), "*1\r\n*3\r\n:2\r\n:1\r\n" + node("a", 1),
        "*1\r\n*3\r\n$1\r\n0\r\n:1\r\n" + node("a", 1),
        "*2\r\n*3\r\n:0\r\n:5\r\n" + node("a", 1) + "*3\r\n:5\r\n:6\r\n" + node("b", 1)}) {
    EXPECT_FALSE(map_of(bad)) << bad;
  }
}

TEST(RedisSlots, NoMapKnowsMoreNodesThanAllowed) {
  const auto of_nodes = [](std::size_t nodes) {
    std::string bytes = "*1\r\n*" + std::to_string(nodes + 2) + "\r\n:0\r\n:1\r\n";
    for (std::size_t i = 0; i < nodes; ++i) bytes += node("a", static_cast<int>(i) + 1);
    return map_of(bytes);
  };
  EXPECT_FALSE(of_nodes(SlotMap::most_nodes + 1));
  auto full = of_nodes(SlotMap::most_nodes);
  ASSERT_TRUE(full);
  SlotMap map = *full;
  EXPECT_FALSE(map.move(7, {"new", 1}));
  EXPECT_EQ(map.master_of(7), nullptr);
  EXPECT_TRUE(map.move(7, {"a", 3}));
  EXPECT_EQ(*map.master_of(7), (Node{"a", 3}));
}

}  // namespace
}  // namespace weir::redis
