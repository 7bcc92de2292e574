// The C client that most others are built on.
#include <gtest/gtest.h>
#include <hiredis/hiredis.h>

#include <memory>

#include "test/server/server_process.hpp"

namespace weir::test {
namespace {

struct Free {
  void operator()(redisContext* context) const { redisFree(context); }
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using Context = std::unique_ptr<redisContext, Free>;
using Reply = std::unique_ptr<redisReply, Free>;

class Hiredis : public testing::Test {
 protected:
  Hiredis()
      : server_({{WEIR_BINARY, "serve", "--resp", "127.0.0.1:0", "--metrics", "off", "--http",
                  "off", "--grpc", "off"},
                 {"resp"}}),
        context_(redisConnect("127.0.0.1", server_.port("resp"))) {}

  Reply run(const char* command) {
    return Reply(static_cast<redisReply*>(redisCommand(context_.get(), command)));
  }

  ServerProcess server_;
  Context context_;
};

TEST_F(Hiredis, UsesBothCommandFamilies) {
  const Reply throttle = run("CL.THROTTLE alice 15 30 60");
  ASSERT_EQ(throttle->type, REDIS_REPLY_ARRAY);
  ASSERT_EQ(throttle->elements, 5U);
  EXPECT_EQ(throttle->element[1]->integer, 16);
  EXPECT_EQ(throttle->element[2]->integer, 15);

  const Reply take = run("WEIR.TAKE alice 2/1m");
  ASSERT_EQ(take->type, REDIS_REPLY_ARRAY);
  ASSERT_EQ(take->elements, 14U);
  EXPECT_STREQ(take->element[1]->str, "granted");
}

TEST_F(Hiredis, TakesKeysOfAnyBytes) {
  const char key[] = {'\0', '\r', '\n', '\xff', '{'};
  for (const long long remaining : {1, 0}) {
    const Reply take(static_cast<redisReply*>(
        redisCommand(context_.get(), "WEIR.TAKE %b 2/1m", key, sizeof key)));
    ASSERT_EQ(take->type, REDIS_REPLY_ARRAY);
    EXPECT_EQ(take->element[5]->integer, remaining);
  }
}

TEST_F(Hiredis, AnswersAPipelineInItsOrder) {
  for (int at = 0; at < 1000; ++at) redisAppendCommand(context_.get(), "ECHO %d", at);
  for (int at = 0; at < 1000; ++at) {
    void* reply = nullptr;
    ASSERT_EQ(redisGetReply(context_.get(), &reply), REDIS_OK);
    EXPECT_EQ(Reply(static_cast<redisReply*>(reply))->str, std::to_string(at));
  }
}

}  // namespace
}  // namespace weir::test
