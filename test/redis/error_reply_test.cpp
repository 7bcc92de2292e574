#include "redis/error_reply.hpp"

#include <gtest/gtest.h>

namespace weir::redis {
namespace {

struct Case {
  const char* error;
  ErrorKind kind;
  Remedy remedy;
};

// As Redis 7.0 words them.
constexpr Case cases[] = {
    {"MOVED 3999 127.0.0.1:6381", ErrorKind::moved, Remedy::redirect},
    {"ASK 3999 127.0.0.1:6381", ErrorKind::ask, Remedy::redirect},
    {"TRYAGAIN Multiple keys request during rehashing of slot", ErrorKind::try_again,
     Remedy::unavailable},
    {"CLUSTERDOWN Hash slot not served", ErrorKind::cluster_down, Remedy::unavailable},
    {"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
     ErrorKind::master_down, Remedy::find_master},
    {"READONLY You can't write against a read only replica.", ErrorKind::read_only,
     Remedy::find_master},
    {"LOADING Redis is loading the dataset in memory", ErrorKind::loading, Remedy::unavailable},
    {"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
     ErrorKind::busy, Remedy::unavailable},
    {"NOREPLICAS Not enough good replicas to write.", ErrorKind::no_replicas, Remedy::unavailable},
    {"MISCONF Redis is configured to save RDB snapshots", ErrorKind::cannot_save,
     Remedy::unavailable},
    {"OOM command not allowed when used memory > 'maxmemory'.", ErrorKind::out_of_memory,
     Remedy::unavailable},
    {"NOSCRIPT No matching script. Please use EVAL.", ErrorKind::no_script, Remedy::reload},
    {"ERR Function not found", ErrorKind::no_function, Remedy::reload},
    {"NOAUTH Authentication required.", ErrorKind::no_auth, Remedy::operator_acts},
    {"WRONGPASS invalid username-password pair or user is disabled.", ErrorKind::wrong_password,
     Remedy::operator_acts},
    {"NOPERM this user has no permissions to run the 'get' command", ErrorKind::no_permission,
     Remedy::operator_acts},
    {"DENIED Redis is running in protected mode because", ErrorKind::protected_mode,
     Remedy::operator_acts},
    {"WRONGTYPE Operation against a key holding the wrong kind of value", ErrorKind::wrong_type,
     Remedy::caller_errs},
    {"CROSSSLOT Keys in request don't hash to the same slot", ErrorKind::cross_slot,
     Remedy::caller_errs},
    {"ERR unknown command 'FCALL', with args beginning with: ", ErrorKind::unknown_command,
     Remedy::caller_errs},
    {"NOPROTO unsupported protocol version", ErrorKind::no_protocol, Remedy::caller_errs},
    {"ERR max number of clients reached", ErrorKind::too_many_clients, Remedy::unavailable},
    {"ERR syntax error", ErrorKind::other, Remedy::caller_errs},
};

TEST(RedisErrorReply, EveryErrorHasItsKindAndItsRemedy) {
  for (const Case& one : cases) {
    EXPECT_STREQ(name(kind_of(one.error)), name(one.kind)) << one.error;
    EXPECT_STREQ(name(remedy_for(one.kind)), name(one.remedy)) << one.error;
  }
}

TEST(RedisErrorReply, ACodeIsAWholeWord) {
  for (const char* const error :
       {"", "MOVEDX 1 a:1", "ASKING", "BUSYKEY Target key name already exists.", "BUSYGROUP",
        "loading", " LOADING", "ERR unknown commander"}) {
    EXPECT_STREQ(name(kind_of(error)), "other") << error;
  }
  EXPECT_STREQ(name(kind_of("LOADING")), "loading");
}

TEST(RedisErrorReply, ARedirectNamesSlotAndNode) {
  EXPECT_EQ(read_redirect("MOVED 3999 127.0.0.1:6381"),
            (Redirect{ErrorKind::moved, 3999, {"127.0.0.1", 6381}}));
  EXPECT_EQ(read_redirect("ASK 0 node.example:1"),
            (Redirect{ErrorKind::ask, 0, {"node.example", 1}}));
  EXPECT_EQ(read_redirect("MOVED 16383 2001:db8::7:6379"),
            (Redirect{ErrorKind::moved, 16383, {"2001:db8::7", 6379}}));
  EXPECT_EQ(read_redirect("MOVED 5 :6380"), (Redirect{ErrorKind::moved, 5, {"", 6380}}));
}

TEST(RedisErrorReply, ARedirectThatLeadsNowhereIsNone) {
  for (const char* const error :
       {"MOVED",           "MOVED ",          "MOVED 1",         "MOVED 1 ",     "MOVED 1 a",
        "MOVED 1 a:",      "MOVED 1 a:0",     "MOVED 1 a:65536", "MOVED 1 a:-1", "MOVED 1 a:6379 ",
        "MOVED 16384 a:1", "MOVED -1 a:1",    "MOVED x a:1",     "MOVED  1 a:1", "MOVED 1 ?:1",
        "MOVED 1 a b:1",   "MOVED 1 a\x01:1", "LOADING 1 a:1",   "moved 1 a:1",  ""}) {
    EXPECT_FALSE(read_redirect(error).has_value()) << error;
  }
}

}  // namespace
}  // namespace weir::redis
