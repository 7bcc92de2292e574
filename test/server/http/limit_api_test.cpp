// What the API answers, from the table and from a store.
#include "server/http/limit_api.hpp"

#include <gmock/gmock.h>

#include "redis/remote_table.hpp"
#include "server/http/query.hpp"
#include "server/http/status_answers.hpp"
#include "test/server/http/api_front.hpp"
#include "test/server/scripted_store.hpp"

namespace weir::test {
namespace {

using redis::CallOutcome;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

class LimitApi : public testing::Test {
 protected:
  static std::string request(std::string_view line, std::string_view body = "") {
    return std::string(line) +
           " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
  }

  std::string post(std::string_view path, std::string_view body) {
    return client_.ask(request("POST " + std::string(path), body));
  }
  std::string take(std::string_view body) { return post("/v1/take", body); }
  std::string get(std::string_view target) {
    return client_.ask(request("GET " + std::string(target)));
  }

  /// The status and the body.
  static std::string brief(const std::string& answer) {
    return statuses(answer) + " " + answer.substr(answer.find("\r\n\r\n") + 4);
  }

  static std::string problem(std::string_view detail) {
    return "\"detail\":\"" + std::string(detail) + "\"}\n";
  }

  ApiFront api_;
  server::HttpFront& front_ = api_.front;
  server::Service& service_ = api_.service;
  HeldThread& thread_ = api_.thread;
  Instant& now_ = api_.now;
  HttpClient client_{front_};
};

TEST_F(LimitApi, TakesUntilTheLimitRefuses) {
  const std::string body = R"({"key":"alice","limit":"2/1m"})";
  const std::string first = take(body);
  EXPECT_EQ(statuses(first), "200");
  EXPECT_THAT(first, HasSubstr(R"({"verdict":"granted","limit":2,"remaining":1,)"
                               R"("retry_after_us":0,"ready_after_us":0,)"
                               R"("reset_after_us":30000000,"retry_after":0,"grant":")"));
  EXPECT_EQ(statuses(take(body)), "200");
  now_ += Span{1};
  const std::string refused = take(body);
  EXPECT_EQ(brief(refused), R"(429 {"verdict":"denied","limit":2,"remaining":0,)"
                            R"("retry_after_us":29999999,"ready_after_us":-1,)"
                            R"("reset_after_us":59999999,"retry_after":30})"
                            "\n");
  EXPECT_THAT(refused, HasSubstr("Retry-After: 30\r\n"));
  EXPECT_THAT(refused, HasSubstr("RateLimit-Policy: \"2/1m\";q=2;w=60\r\n"));
  EXPECT_THAT(refused, HasSubstr("RateLimit: \"2/1m\";r=0;t=30\r\n"));
  EXPECT_EQ(service_.metrics.decisions().back().by_verdict[0], 2U);
  EXPECT_EQ(service_.metrics.decisions().back().by_verdict[2], 1U);
}

TEST_F(LimitApi, TellsNoWindowWhereTheCalendarHasLongerAndShorterOnes) {
  const std::string answer = take(R"({"key":"a","limit":"calendar-window 2/month"})");
  EXPECT_EQ(statuses(answer), "200");
  EXPECT_THAT(answer, HasSubstr("RateLimit-Policy: \"calendar-window 2/month\";q=2\r\n"));
}

TEST_F(LimitApi, NeverAsksToRetryWhatIsImpossible) {
  const std::string answer = take(R"({"key":"a","limit":"2/1m","cost":3})");
  EXPECT_EQ(statuses(answer), "429");
  EXPECT_THAT(answer, HasSubstr(R"("verdict":"impossible")"));
  EXPECT_THAT(answer, HasSubstr(R"("retry_after":-1)"));
  EXPECT_THAT(answer, Not(HasSubstr("Retry-After")));
}

TEST_F(LimitApi, WaitsAsLongAsThePatienceAllows) {
  EXPECT_EQ(statuses(take(R"({"key":"a","limit":"@login","cost":2})")), "200");
  const std::string answer = take(R"({"key":"a","limit":"@login","patience":"30s"})");
  EXPECT_EQ(statuses(answer), "200");
  EXPECT_THAT(answer, HasSubstr(R"("verdict":"deferred")"));
  EXPECT_THAT(answer, HasSubstr(R"("ready_after_us":30000000)"));
}

TEST_F(LimitApi, PeeksWithoutTaking) {
  for (int each = 0; each < 3; ++each) {
    EXPECT_EQ(brief(post("/v1/peek", R"({"key":"a","limit":"@login"})")),
              R"(200 {"verdict":"granted","limit":2,"remaining":2,"retry_after_us":0,)"
              R"("ready_after_us":0,"reset_after_us":0,"retry_after":0})"
              "\n");
  }
}

TEST_F(LimitApi, TakesAllOrNone) {
  const std::string body =
      R"({"all":[{"key":"a","limit":"5/1m"},{"key":"b","limit":"@login","cost":2}]})";
  const std::string first = take(body);
  EXPECT_EQ(statuses(first), "200");
  EXPECT_THAT(first, HasSubstr(R"("grant":[")"));
  EXPECT_THAT(first, HasSubstr(R"("key":"b","atomic":true})"));
  EXPECT_EQ(statuses(take(body)), "429");
  EXPECT_THAT(post("/v1/peek", R"({"key":"a","limit":"5/1m"})"), HasSubstr(R"("remaining":4)"));
}

TEST_F(LimitApi, PeeksAtSeveralWithoutTaking) {
  const std::string body =
      R"({"all":[{"key":"a","limit":"5/1m"},{"key":"b","limit":"@login","cost":2}]})";
  for (int each = 0; each < 2; ++each) {
    EXPECT_EQ(brief(post("/v1/peek", body)),
              R"(200 {"verdict":"granted","limit":2,"remaining":2,"retry_after_us":0,)"
              R"("ready_after_us":0,"reset_after_us":0,"retry_after":0,"key":"b","atomic":true})"
              "\n");
  }
  EXPECT_EQ(statuses(take(body)), "200");
  const std::string refused = post("/v1/peek", body);
  EXPECT_EQ(statuses(refused), "429");
  EXPECT_THAT(refused, HasSubstr(R"("key":"b","atomic":true})"));
  EXPECT_THAT(post("/v1/peek", R"({"key":"a","limit":"5/1m"})"), HasSubstr(R"("remaining":4)"));
}

TEST_F(LimitApi, SaysWhatIsWrongWithABodyAndWhere) {
  const std::string whole = "a whole number from 0 to 1125899906842624";
  const std::string members = "expected none but key, limit, cost, patience";
  struct Wrong {
    std::string body;
    std::string detail;
  };
  for (const auto& [body, detail] : {
           Wrong{"[]", "the body: expected an object with key, limit, cost, patience"},
           {"{}", R"(the body: expected a key, as in \"key\": \"alice\")"},
           {R"({"key":"a"})", R"(the body: expected a limit, as in \"limit\": \"5/1m\")"},
           {R"({"key":1,"limit":"5/1m"})", "/key: expected a string"},
           {R"({"key":"a","limit":"5/1x"})",
            "/limit: column 3: expected a period such as s, 10s, 1m, 1h or 1d, got '1x'"},
           {R"({"key":"a","limit":"@no"})", "/limit: column 1: no limit has this name"},
           {R"({"key":"a","limit":"5/1m","cost":-1})", "/cost: expected " + whole},
           {R"({"key":"a","limit":"5/1m","cost":1.5})", "/cost: expected " + whole},
           {R"({"key":"a","limit":"5/1m","patience":5})", "/patience: expected a string"},
           {R"({"key":"a","limit":"5/1m","patience":"5"})",
            R"(/patience: expected a length of time, such as \"50ms\")"},
           {R"({"key":"a","limit":"5/1m","hits":1})", "/hits: " + members},
           {R"({"all":[]})", "/all: expected an array of 1 to 16"},
           {R"({"all":[{"key":"a","limit":"5/1m"},{"key":"b","limit":"5/1m","cost":"1"}]})",
            "/all/1/cost: expected " + whole},
           {R"({"all":[1]})", "/all/0: expected an object with key, limit, cost"},
           {R"({"all":[],"key":"a"})", "/key: expected none but all, patience"},
       }) {
    const std::string answer = take(body);
    EXPECT_EQ(statuses(answer), "400") << body;
    EXPECT_THAT(answer, HasSubstr("\"detail\":\"" + detail)) << body;
  }
  EXPECT_THAT(take("{"), HasSubstr("byte 1: expected one JSON value"));
  EXPECT_THAT(take(R"({"key":")" + std::string(1025, 'k') + R"(","limit":"5/1m"})"),
              EndsWith(problem("/key: expected at most 1024 bytes")));
  EXPECT_THAT(take(R"({"key":"a","limit":"5/1m"} x)"), HasSubstr("byte 27"));
}

TEST_F(LimitApi, AnswersShellsInALine) {
  EXPECT_EQ(brief(get("/v1/check?key=a&limit=@login")), "200 granted: 1 of 2 left\n");
  EXPECT_EQ(brief(get("/v1/check?limit=%40login&key=%61")), "200 granted: 0 of 2 left\n");
  EXPECT_EQ(brief(get("/v1/check?key=a&limit=@login")), "429 denied: again in 30s\n");
  EXPECT_EQ(brief(get("/v1/check?key=a&limit=@login&cost=9")),
            "429 impossible: costs more than the limit holds\n");
  EXPECT_EQ(brief(get("/v1/check?key=b&limit=10/s+burst+3&cost=2")), "200 granted: 1 of 3 left\n");
}

TEST_F(LimitApi, SaysInALineWhatIsWrongWithAQuery) {
  for (const auto& [query, line] : {
           std::pair{"", "query: expected key=...&limit=..., as in key=alice&limit=5/1m"},
           {"?key=a", "query: expected key=...&limit=..., as in key=alice&limit=5/1m"},
           {"?key=a&limit=5",
            "limit: column 2: expected '/' and a period, as in 100/s, got the end"},
           {"?key=a&key=b&limit=@login", "query: expected each name once"},
           {"?key=%4&limit=@login", "query: expected two hexadecimal digits behind each %"},
           {"?key=a&limit=@login&cost=x",
            "cost: expected a whole number from 0 to 1125899906842624"},
           {"?key=a&limit=@login&hits=1", "query: expected none but key, limit, cost"},
       }) {
    EXPECT_EQ(brief(get("/v1/check" + std::string(query))), "400 " + std::string(line) + "\n");
  }
}

TEST_F(LimitApi, TellsOfItsHealth) {
  EXPECT_EQ(brief(get("/livez")), "200 ok\n");
  EXPECT_EQ(brief(get("/readyz")), "200 ok\n");
  EXPECT_EQ(brief(get("/readyz?verbose")), "200 [+] serving\nready\n");
  service_.draining = true;
  EXPECT_EQ(brief(get("/readyz")), "503 draining\n");
  EXPECT_EQ(brief(get("/readyz?verbose")), "503 [-] draining\nnot ready\n");
  EXPECT_EQ(brief(get("/livez")), "200 ok\n");
  EXPECT_THAT(get("/metrics"), HasSubstr("\nweir_decisions_total{"));
}

class LimitApiOverAStore : public LimitApi {
 protected:
  LimitApiOverAStore() { service_.store = &table_; }
  ~LimitApiOverAStore() override { store_.end_all(ScriptedStore::ended(CallOutcome::timed_out)); }

  ScriptedStore store_;
  redis::RemoteTable table_{store_, {.deadline = std::chrono::seconds{30}}};
};

TEST_F(LimitApiOverAStore, AnswersInOrderOnceTheStoreHas) {
  EXPECT_EQ(take(R"({"key":"a","limit":"5/1m"})"), "");
  EXPECT_EQ(get("/livez"), "");
  thread_.is_here = false;
  store_.end(0, ScriptedStore::granted(4));
  EXPECT_EQ(client_.hear(), "");
  thread_.is_here = true;
  thread_.run();
  const std::string answers = client_.hear();
  EXPECT_EQ(statuses(answers), "200 200");
  EXPECT_THAT(answers, HasSubstr(R"("remaining":4)"));
  EXPECT_THAT(answers, HasSubstr(R"("source":"store"})"));
  EXPECT_EQ(client_.carrier().resumed, 1);
}

TEST_F(LimitApiOverAStore, CountsWhatNobodyHearsAnyMore) {
  {
    HttpClient gone(front_);
    EXPECT_EQ(gone.ask(request("GET /v1/check?key=a&limit=5/1m")), "");
  }
  store_.end(0, ScriptedStore::granted(4));
  EXPECT_EQ(service_.metrics.decisions().back().by_verdict[0], 1U);
}

TEST_F(LimitApiOverAStore, AnswersByThePolicyWithoutIt) {
  EXPECT_EQ(get("/v1/check?key=a&limit=5/1m"), "");
  store_.end(0, ScriptedStore::ended(CallOutcome::timed_out));
  EXPECT_EQ(brief(client_.hear()), "200 granted: 4 of 5 left\n");
}

class LimitApiOverAStoreOrNone : public LimitApiOverAStore {
 protected:
  LimitApiOverAStoreOrNone() { service_.store = &closed_; }

  redis::RemoteTable closed_{
      store_, {.deadline = std::chrono::seconds{30}, .without_store = redis::WithoutStore::closed}};
};

TEST_F(LimitApiOverAStoreOrNone, IsUnavailableWhereThePolicyIsClosed) {
  EXPECT_EQ(take(R"({"key":"a","limit":"5/1m"})"), "");
  store_.end(0, ScriptedStore::ended(CallOutcome::timed_out));
  const std::string answer = client_.hear();
  EXPECT_EQ(statuses(answer), "503");
  EXPECT_THAT(answer, HasSubstr(R"("source":"closed")"));
}

}  // namespace
}  // namespace weir::test
