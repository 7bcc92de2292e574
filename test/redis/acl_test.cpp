// The rights that docs/shared-limits.md names are what the face needs: all of them, and no more.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <sstream>

#include "redis/scripts.hpp"
#include "test/redis/redis_connection.hpp"
#include "test/wire/redis_server.hpp"
#include "weir/redis/client.hpp"
#include "weir/redis/limiter.hpp"

namespace weir::redis {
namespace {

using namespace std::chrono_literals;

/// The words of the page's first line that begins so.
std::vector<std::string> words_of_line(const std::string& beginning) {
  std::ifstream page(WEIR_SHARED_LIMITS_PAGE);
  for (std::string line; std::getline(page, line);) {
    if (line.rfind(beginning, 0) != 0) continue;
    std::istringstream words(line);
    return {std::istream_iterator<std::string>(words), {}};
  }
  throw std::runtime_error("the page has no line that begins with " + beginning);
}

Policy patient() {
  Policy policy;
  policy.deadline = 10s;
  policy.without_store = WithoutStore::closed;
  policy.breaker = {.failures = 1000, .calls = 1000};
  policy.remembered_denials = 0;
  return policy;
}

/// What one user met that asked by every verb; nothing where the store decided each time.
class Verbs {
 public:
  explicit Verbs(const std::string& url)
      : client_(Client::connect(url).value()),
        limits_(std::make_shared<Limits>(*client_, patient())) {}

  std::string trouble() {
    for (const char* limit : {"5/1h", "leaky-bucket 5/1h queue 5", "fixed-window 5/1h",
                              "sliding-window 5/1h", "5/1h & 100/1d", "concurrency 5/1h"}) {
      run(Limiter<>(limits_, limit), 1);
    }
    run(Limiter<>(limits_, "sliding-log 400/1h"), 150);  // a ring, changed in place
    return met_;
  }

 private:
  void run(const Limiter<>& limiter, Cost cost) {
    note(limiter.try_acquire("alice", cost).trouble);
    const Outcome second = limiter.try_acquire_for("alice", cost, 1s);
    note(second.trouble);
    note(limiter.peek("alice", cost).trouble);
    if (second.permit != PermitId::none) {
      note(limiter.renew("alice", second.permit).trouble);
      note(limiter.leave("alice", second.permit).trouble);
    }
    note(limiter.cancel("alice", second).trouble);
    note(limiter.refund("alice", cost).trouble);
    note(limiter.reset("alice").trouble);
  }

  void note(const Trouble& trouble) {
    if (met_.empty() && trouble) met_ = trouble.message;
  }

  std::unique_ptr<Client> client_;
  std::shared_ptr<Limits> limits_;
  std::string met_;
};

class Acl : public testing::Test {
 protected:
  std::string url() const {
    return "redis://limiter:secret@127.0.0.1:" + std::to_string(server_.port());
  }

  wire::RedisServer server_;
  test::RedisConnection admin_{server_.port()};
};

TEST_F(Acl, TheRightsOfThePageAreEnough) {
  admin_.must({"FUNCTION", "LOAD", function_library()});
  admin_.must(words_of_line("ACL SETUSER limiter on"));
  EXPECT_EQ(Verbs(url()).trouble(), "");
}

TEST_F(Acl, WithOneRightMoreItBringsTheFunctionsItself) {
  admin_.must(words_of_line("ACL SETUSER limiter on"));
  EXPECT_NE(Verbs(url()).trouble(), "");
  admin_.must(words_of_line("ACL SETUSER limiter +"));
  EXPECT_EQ(Verbs(url()).trouble(), "");
}

TEST_F(Acl, NoneOfTheRightsIsTooMany) {
  admin_.must({"FUNCTION", "LOAD", function_library()});
  const std::vector<std::string> line = words_of_line("ACL SETUSER limiter on");
  int rights = 0;
  for (const std::string& right : line) {
    if (right.front() != '+') continue;
    ++rights;
    admin_.must({"ACL", "DELUSER", "limiter"});
    admin_.must(line);
    admin_.must({"ACL", "SETUSER", "limiter", "-" + right.substr(1)});
    EXPECT_NE(Verbs(url()).trouble(), "") << "nothing needs " << right;
  }
  EXPECT_GT(rights, 5);
}

TEST_F(Acl, KeysOfOthersAreOutOfReach) {
  admin_.must(words_of_line("ACL SETUSER limiter on"));
  admin_.must({"SET", "others", "1"});
  test::RedisConnection limiter(server_.port());
  limiter.must({"AUTH", "limiter", "secret"});
  EXPECT_EQ(limiter.run({"GET", "others"}).text.substr(0, 6), "NOPERM");
}

}  // namespace
}  // namespace weir::redis
