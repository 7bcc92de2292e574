// Which bytes are requests, which are refused and how, and in which order answers leave.
#include "server/http/http_dialogue.hpp"

#include <gmock/gmock.h>

#include <optional>

#include "test/server/http/http_client.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;
using server::HttpReply;
using server::HttpRequest;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

/// A server that repeats bodies, and answers /later when the test says so.
class Http : public testing::Test {
 protected:
  Http() {
    front_.router.add({"GET", "/hello"}, [](const HttpRequest& request, HttpReply& reply) {
      reply.send(server::plain_text(200, "hello " + std::string(request.query)));
    });
    front_.router.add({"POST", "/echo"}, [](const HttpRequest& request, HttpReply& reply) {
      reply.send(server::plain_text(200, std::string(request.body)));
    });
    front_.router.add({"GET", "/field"}, [](const HttpRequest& request, HttpReply& reply) {
      reply.send(server::plain_text(
          200, std::string(request.field("x-color")) + " from " + std::string(request.peer)));
    });
    front_.router.add({"GET", "/later"}, [this](const HttpRequest&, HttpReply& reply) {
      owed_.push_back(reply.later());
    });
    front_.router.add({"GET", "/silent"}, [](const HttpRequest&, HttpReply&) {});
  }

  std::string status_of(std::string_view bytes) { return statuses(HttpClient(front_).ask(bytes)); }

  static std::string get(std::string_view path, std::string_view fields = "") {
    return "GET " + std::string(path) + " HTTP/1.1\r\nHost: x\r\n" + std::string(fields) + "\r\n";
  }

  static std::string chunked(std::string_view chunks) {
    return "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" +
           std::string(chunks);
  }

  void answer(std::size_t which, const std::string& line) {
    owed_[which].send(server::plain_text(200, line));
  }

  Rules rules_;
  server::HttpLimits limits_;
  server::WorkerMetrics metrics_{0};
  server::Log log_{{.level = server::LogLevel::off}};
  server::HttpFront front_{.limits = limits_, .metrics = metrics_, .log = log_, .read_clock = [] {
                             return Instant{784'111'777s};
                           }};
  std::vector<server::HttpLater> owed_;
};

TEST_F(Http, AnswersARequest) {
  HttpClient client(front_);
  EXPECT_EQ(client.ask(get("/hello?a=b")),
            "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
            "Content-Type: text/plain; charset=utf-8\r\nContent-Length: 10\r\n\r\nhello a=b\n");
  EXPECT_FALSE(client.ended());
  EXPECT_TRUE(client.wants_input());
}

TEST_F(Http, TellsHandlersFieldsInAnyCaseAndWhoAsks) {
  EXPECT_THAT(HttpClient(front_).ask(get("/field", "X-COLOR:  blue \t\r\n")),
              EndsWith("\r\n\r\nblue from 192.0.2.1:4711\n"));
}

TEST_F(Http, AnswersEveryMethodWhereARouteSaysSo) {
  front_.router.add({server::any_method, "/any"}, [](const HttpRequest& request, HttpReply& reply) {
    reply.send(server::plain_text(200, std::string(request.method)));
  });
  for (const std::string method : {"GET", "POST", "DELETE", "OPTIONS", "TRACE", "BREW"}) {
    EXPECT_THAT(HttpClient(front_).ask(method + " /any HTTP/1.1\r\nHost: x\r\n\r\n"),
                EndsWith("\r\n\r\n" + method + "\n"));
  }
  EXPECT_THAT(HttpClient(front_).ask("HEAD /any HTTP/1.1\r\nHost: x\r\n\r\n"),
              EndsWith("Content-Length: 5\r\n\r\n"));
  EXPECT_THAT(HttpClient(front_).ask("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"),
              HasSubstr("Allow: GET, HEAD, POST, OPTIONS\r\n"));
}

/// Requests of every form, and the statuses of their answers.
struct Exchange {
  std::string name;
  std::string bytes;
  std::string statuses;
  bool ends = false;
};

std::string post(std::string_view fields, std::string_view body) {
  return "POST /echo HTTP/1.1\r\nHost: x\r\n" + std::string(fields) + "\r\n" + std::string(body);
}

std::string head(std::string_view line, std::string_view fields = "Host: x\r\n") {
  return std::string(line) + "\r\n" + std::string(fields) + "\r\n";
}

const std::string length = "Content-Length: 5\r\n";
const std::string coded = "Transfer-Encoding: chunked\r\n";

std::vector<Exchange> requests() {
  return {
      {"a get", head("GET /hello HTTP/1.1"), "200"},
      {"a pipeline", head("GET /hello HTTP/1.1") + head("GET /no HTTP/1.1") + post(length, "12345"),
       "200 404 200"},
      {"a body", post(length, "hello"), "200"},
      {"the same length twice", post(length + length, "hello"), "200"},
      {"chunks", post(coded, "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"), "200"},
      {"a trailer", post(coded, "1\r\na\r\n0\r\nX-Sum: 1\r\n\r\n"), "200"},
      {"an extension of a chunk", post(coded, "1;a=b\r\na\r\n0\r\n\r\n"), "200"},
      {"one that closes", head("GET /hello HTTP/1.1", "Host: x\r\nConnection: close\r\n"), "200",
       true},
      {"HTTP/1.0", head("GET /hello HTTP/1.0", ""), "200", true},
      {"HTTP/1.0 that stays", head("GET /hello HTTP/1.0", "Connection: keep-alive\r\n"), "200"},
      {"lines before a request", "\r\n\r\n\r\n\r\n\r\n\r\n" + head("GET /hello HTTP/1.1"), "200"},
      {"an absolute target", head("GET http://x/hello HTTP/1.1"), "200"},
      {"an absolute target without a path", head("GET http://x HTTP/1.1"), "404"},
      {"HEAD", head("HEAD /hello HTTP/1.1"), "200"},
      {"OPTIONS", head("OPTIONS /hello HTTP/1.1"), "204"},
      {"OPTIONS of all", head("OPTIONS * HTTP/1.1"), "204"},
      {"another method", head("PUT /hello HTTP/1.1"), "405"},
      {"TRACE", head("TRACE /hello HTTP/1.1"), "405"},
      {"a method of nobody's", head("BREW /hello HTTP/1.1"), "501"},
      {"two slashes", head("GET //hello HTTP/1.1"), "404"},
      {"dots", head("GET /x/../hello HTTP/1.1"), "404"},
      {"an encoded letter", head("GET /hell%6f HTTP/1.1"), "404"},
      {"an upgrade",
       head("GET /hello HTTP/1.1",
            "Host: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
            "HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n"),
       "200"},
      {"a handler without an answer", head("GET /silent HTTP/1.1"), "500"},
  };
}

std::vector<Exchange> bodies_of_no_certain_length() {
  return {
      {"length and chunks", post(length + coded, "0\r\n\r\n"), "400", true},
      {"chunks and length", post(coded + length, "0\r\n\r\n"), "400", true},
      {"two lengths", post(length + "Content-Length: 6\r\n", "hello"), "400", true},
      {"a list of lengths", post("Content-Length: 5, 6\r\n", "hello"), "400", true},
      {"a length below zero", post("Content-Length: -1\r\n", ""), "400", true},
      {"a length with a sign", post("Content-Length: +5\r\n", "hello"), "400", true},
      {"a length past all numbers", post("Content-Length: 99999999999999999999\r\n", ""), "400",
       true},
      {"a length in hexadecimal", post("Content-Length: 0x5\r\n", "hello"), "400", true},
      {"another coding", post("Transfer-Encoding: gzip, chunked\r\n", ""), "501", true},
      {"no coding", post("Transfer-Encoding: identity\r\n", ""), "501", true},
      {"chunked, twice", post(coded + coded, "0\r\n\r\n"), "400", true},
      {"chunks in HTTP/1.0", head("POST /echo HTTP/1.0", coded) + "0\r\n\r\n", "400", true},
      {"a chunk past all numbers", post(coded, "FFFFFFFFFFFFFFFFF\r\n"), "400", true},
      {"a chunk past all memory", post(coded, "FFFFFFFFFFFFFFFF\r\n"), "413", true},
      {"a chunk that is no number", post(coded, "xyz\r\n\r\n"), "400", true},
      {"a chunk longer than it says", post(coded, "1\r\nab\r\n0\r\n\r\n"), "400", true},
      {"a chunk's head with a lone LF", post(coded, "1\nab\r\n0\r\n\r\n"), "400", true},
  };
}

std::vector<Exchange> heads_that_are_none() {
  return {
      {"a folded field", head("GET /hello HTTP/1.1", "Host: x\r\n y\r\n"), "400", true},
      {"a field folded by a tab", head("GET /hello HTTP/1.1", "Host: x\r\n\ty\r\n"), "400", true},
      {"a lone LF", "GET /hello HTTP/1.1\nHost: x\n\n", "400", true},
      {"a lone LF in a field", head("GET /hello HTTP/1.1", "Host: x\nA: b\r\n"), "400", true},
      {"a lone CR", head("GET /hello HTTP/1.1", "Host: x\rA: b\r\n"), "400", true},
      {"a NUL", head("GET /hello HTTP/1.1", std::string("Host: x\0\r\n", 10)), "400", true},
      {"a field without a colon", head("GET /hello HTTP/1.1", "Host: x\r\nnonsense\r\n"), "400",
       true},
      {"a blank before the colon", head("GET /hello HTTP/1.1", "Host : x\r\n"), "400", true},
      {"a field without a name", head("GET /hello HTTP/1.1", "Host: x\r\n: y\r\n"), "400", true},
      {"no Host", head("GET /hello HTTP/1.1", ""), "400", true},
      {"two Hosts", head("GET /hello HTTP/1.1", "Host: x\r\nHost: x\r\n"), "400", true},
      {"a Host with a path", head("GET /hello HTTP/1.1", "Host: x/y\r\n"), "400", true},
      {"HTTP/0.9", "GET /hello\r\n", "400", true},
      {"HTTP/1.2", head("GET /hello HTTP/1.2"), "505", true},
      {"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505", true},
      {"a version in small letters", head("GET /hello http/1.1"), "400", true},
      {"two blanks", head("GET  /hello HTTP/1.1"), "400", true},
      {"a blank at the end", head("GET /hello HTTP/1.1 "), "400", true},
      {"a target that is a word", head("GET hello HTTP/1.1"), "400", true},
      {"a target with a fragment", head("GET /hello#x HTTP/1.1"), "400", true},
      {"a target that is not ASCII", head("GET /h\xc3\xa9 HTTP/1.1"), "400", true},
      {"%00", head("GET /hello%00 HTTP/1.1"), "400", true},
      {"a star", head("GET * HTTP/1.1"), "400", true},
      {"an absolute target without a host", head("GET http:///hello HTTP/1.1"), "400", true},
      {"a method with a colon", head("GE:T /hello HTTP/1.1"), "400", true},
      {"an expectation that nobody has",
       head("POST /echo HTTP/1.1", "Host: x\r\nExpect: tea\r\n" + length), "417", true},
      {"a handshake of TLS", std::string("\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03", 11), "400",
       true},
      {"a body that is too long", post("Content-Length: 65537\r\n", ""), "413", true},
  };
}

TEST_F(Http, AnswersEachFormWithItsStatusHoweverItIsCut) {
  std::vector<Exchange> all = requests();
  for (const auto& more : {bodies_of_no_certain_length(), heads_that_are_none()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  for (const Exchange& exchange : all) {
    SCOPED_TRACE(exchange.name);
    HttpClient whole(front_);
    const std::string answers = whole.ask(exchange.bytes);
    EXPECT_EQ(statuses(answers), exchange.statuses) << answers;
    EXPECT_EQ(whole.ended(), exchange.ends);
    EXPECT_EQ(HttpClient(front_).ask_byte_by_byte(exchange.bytes), answers);
    for (std::size_t where = 1; where < exchange.bytes.size(); ++where) {
      EXPECT_EQ(HttpClient(front_).ask_in_two(exchange.bytes, where), answers) << where;
    }
  }
}

TEST_F(Http, SaysNothingMoreAfterARefusal) {
  HttpClient client(front_);
  EXPECT_EQ(statuses(client.ask("GET /hello\r\n" + get("/hello"))), "400");
  EXPECT_TRUE(client.ended());
}

TEST_F(Http, RefusesWithAProblemThatNamesWhatWasExpected) {
  const std::string answer = HttpClient(front_).ask(head("GET /hello HTTP/1.2"));
  EXPECT_THAT(answer, HasSubstr("Content-Type: application/problem+json\r\n"));
  EXPECT_THAT(answer, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(answer, EndsWith("{\"title\":\"HTTP Version Not Supported\",\"status\":505,"
                               "\"detail\":\"expected version HTTP/1.0 or HTTP/1.1\"}\n"));
}

TEST_F(Http, BoundsTheHead) {
  const std::string longest(8192 - get("/hello", "A: \r\n").size(), 'a');
  EXPECT_EQ(status_of(get("/hello", "A: " + longest + "\r\n")), "200");
  EXPECT_EQ(status_of(get("/hello", "A: " + longest + "a\r\n")), "431");
  EXPECT_EQ(status_of("GET /" + std::string(9000, 'a')), "414");
  EXPECT_EQ(status_of(get("/" + std::string(4095, 'a'))), "404");
  EXPECT_EQ(status_of(get("/" + std::string(4096, 'a'))), "414");
  std::string fields;
  for (int each = 0; each < 63; ++each) fields += "a:\r\n";
  EXPECT_EQ(status_of(get("/hello", fields)), "200");
  EXPECT_EQ(status_of(get("/hello", fields + "a:\r\n")), "431");
}

TEST_F(Http, BoundsTheBody) {
  const std::string longest(65536, 'a');
  EXPECT_EQ(status_of(post("Content-Length: 65536\r\n", longest)), "200");
  EXPECT_EQ(status_of(chunked("10000\r\n" + longest + "\r\n0\r\n\r\n")), "200");
  EXPECT_EQ(status_of(chunked("10000\r\n" + longest + "\r\n1\r\na\r\n0\r\n\r\n")), "413");
  std::string crumbs;
  for (int each = 0; each < 30'000; ++each) crumbs += "1\r\na\r\n";
  EXPECT_EQ(status_of(chunked(crumbs)), "413");
  EXPECT_EQ(status_of(chunked("1;" + std::string(9000, 'a'))), "400");
  std::string trailers = "0\r\n";
  for (int each = 0; each < 3000; ++each) trailers += "a: b\r\n";
  EXPECT_EQ(status_of(chunked(trailers)), "400");
}

TEST_F(Http, TellsAClientThatWaitsToGoOn) {
  HttpClient client(front_);
  const std::string request = post("Content-Length: 2\r\nExpect: 100-continue\r\n", "");
  EXPECT_EQ(client.ask(request), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_THAT(client.ask("ab"), EndsWith("\r\n\r\nab\n"));
  EXPECT_EQ(statuses(HttpClient(front_).ask(request + "ab")), "200");
}

TEST_F(Http, LeavesOutTheBodyToHead) {
  HttpClient client(front_);
  EXPECT_THAT(client.ask("HEAD /hello HTTP/1.1\r\nHost: x\r\n\r\n"),
              EndsWith("Content-Length: 7\r\n\r\n"));
}

TEST_F(Http, NamesTheMethodsOfAPath) {
  EXPECT_THAT(HttpClient(front_).ask(head("PUT /hello HTTP/1.1")),
              HasSubstr("Allow: GET, HEAD, OPTIONS\r\n"));
  EXPECT_THAT(HttpClient(front_).ask(head("OPTIONS /echo HTTP/1.1")),
              HasSubstr("Allow: POST, OPTIONS\r\n"));
}

TEST_F(Http, AnswersInTheOrderOfRequestsWhenAnswersComeLater) {
  HttpClient client(front_);
  EXPECT_EQ(client.ask(get("/later") + get("/hello?1") + get("/later") + get("/hello?2")), "");
  answer(1, "second");
  EXPECT_EQ(client.hear(), "");
  answer(0, "first");
  EXPECT_EQ(client.carrier().resumed, 2);
  const std::string all = client.hear();
  EXPECT_LT(all.find("first"), all.find("hello 1"));
  EXPECT_LT(all.find("hello 1"), all.find("second"));
  EXPECT_LT(all.find("second"), all.find("hello 2"));
}

TEST_F(Http, ReadsNoMoreWhileAsManyAnswersAreOwedAsMayBe) {
  limits_.pipeline = 2;
  HttpClient client(front_);
  EXPECT_EQ(client.ask(get("/later") + get("/later") + get("/hello?x")), "");
  EXPECT_FALSE(client.wants_input());
  answer(0, "one");
  EXPECT_EQ(statuses(client.hear()), "200");
  EXPECT_TRUE(client.wants_input());
  answer(1, "two");
  EXPECT_THAT(client.hear(), EndsWith("hello x\n"));
}

TEST_F(Http, ReadsNoMoreWhileAnswersAreNotTaken) {
  limits_.output_bytes = 1000;
  HttpClient client(front_);
  std::string requests;
  for (int each = 0; each < 100; ++each) requests += get("/hello");
  client.dialogue().receive(requests);
  EXPECT_FALSE(client.wants_input());
  std::string some;
  client.dialogue().write(some, 100);
  EXPECT_EQ(some.size(), 100U);
  EXPECT_EQ(statuses(some + client.hear()).size(), 100 * 4U - 1);
  EXPECT_TRUE(client.wants_input());
}

TEST_F(Http, ClosesOnceTheOwedAnswersAreOut) {
  HttpClient client(front_);
  EXPECT_EQ(client.ask(get("/later", "Connection: close\r\n")), "");
  EXPECT_FALSE(client.ended());
  EXPECT_FALSE(client.wants_input());
  answer(0, "bye");
  EXPECT_THAT(client.hear(), HasSubstr("Connection: close\r\n"));
  EXPECT_TRUE(client.ended());
}

TEST_F(Http, DropsAnAnswerThatComesAfterTheEnd) {
  {
    HttpClient client(front_);
    EXPECT_EQ(client.ask(get("/later")), "");
  }
  answer(0, "nobody hears");
}

TEST_F(Http, GivesUpAnAnswerThatNeverComes) {
  HttpClient client(front_);
  EXPECT_EQ(client.ask(get("/later")), "");
  client.tick(15);
  EXPECT_FALSE(client.ended());
  client.tick(1);
  EXPECT_TRUE(client.ended());
}

TEST_F(Http, CutsOffWhoTricklesAHeadOrABody) {
  HttpClient slow(front_);
  for (const char byte : std::string_view("GET /h")) {
    EXPECT_EQ(slow.ask({&byte, 1}), "");
    slow.tick(1);
  }
  EXPECT_EQ(statuses(slow.hear()), "408");
  EXPECT_TRUE(slow.ended());
  HttpClient idle(front_);
  EXPECT_EQ(idle.ask(post("Content-Length: 100\r\n", "")), "");
  for (int second = 0; second < 10; ++second) {
    idle.tick(1);
    EXPECT_EQ(idle.ask("x"), "");
  }
  idle.tick(1);
  EXPECT_EQ(statuses(idle.hear()), "408");
}

TEST_F(Http, EndsInSilenceWhereNothingIsAskedForAMinute) {
  HttpClient client(front_);
  client.tick(30);
  EXPECT_EQ(statuses(client.ask(get("/hello"))), "200");
  client.tick(60);
  EXPECT_FALSE(client.ended());
  client.tick(1);
  EXPECT_EQ(client.hear(), "");
  EXPECT_TRUE(client.ended());
}

TEST_F(Http, EndsAConnectionThatHasAskedEnough) {
  limits_.requests = 3;
  HttpClient client(front_);
  EXPECT_THAT(client.ask(get("/hello") + get("/hello")), Not(HasSubstr("close")));
  EXPECT_THAT(client.ask(get("/hello") + get("/hello")), HasSubstr("Connection: close\r\n"));
  EXPECT_TRUE(client.ended());
}

TEST_F(Http, DrainsWhatHasBegun) {
  HttpClient idle(front_);
  idle.dialogue().drain();
  EXPECT_TRUE(idle.ended());
  HttpClient client(front_);
  EXPECT_EQ(client.ask(get("/later")), "");
  client.dialogue().drain();
  EXPECT_FALSE(client.ended());
  EXPECT_FALSE(client.wants_input());
  answer(0, "done");
  EXPECT_EQ(statuses(client.hear()), "200");
  EXPECT_TRUE(client.ended());
}

}  // namespace
}  // namespace weir::test
