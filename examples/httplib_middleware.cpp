// Access limits on the handlers of a cpp-httplib server: five replies a minute for each user.
//
//   httplib_middleware 8080   serves 127.0.0.1:8080 until it is interrupted
//   httplib_middleware        asks itself, and shows the answers
//
// It shows: the limit stands where the handler is declared; over it the application's own JSON is
// answered, with Retry-After, and the handler does not run; who is not logged in is told so.
#include <httplib.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>

#include "weir/http/httplib.hpp"

namespace {

using namespace std::chrono_literals;

weir::http::AccessLimits declared() {
  return weir::http::AccessLimits::of({
      {.method = "POST",
       .path = "/reply",
       .max_count = 5,
       .within = 60s,
       .need_login = true,
       .answer = {429, "application/json", R"({"code":500210,"msg":"take a rest"})"},
       .login_answer = {401, "application/json", R"({"code":500211,"msg":"log in first"})"}},
      {.method = "GET",
       .path = R"(/topics/(\d+))",
       .limit = "20/1s burst 40",
       .per = weir::http::Per::ip},
  });
}

/// A service looks a session up here. A header that any client may write proves nothing.
std::string user_of(const httplib::Request& request) { return request.get_header_value("X-User"); }

/// `replied` counts how often the handler ran.
void serve_on(httplib::Server& server, std::atomic<int>& replied) {
  const auto limits = declared();
  server.Post("/reply",
              weir::http::limited(limits, "/reply",
                                  [&replied](const httplib::Request&, httplib::Response& response) {
                                    ++replied;
                                    response.set_content("posted\n", "text/plain");
                                  },
                                  {.user = user_of}));
  server.Get(R"(/topics/(\d+))",
             weir::http::limited(limits, R"(/topics/(\d+))",
                                 [](const httplib::Request& request, httplib::Response& response) {
                                   response.set_content("topic " + request.matches[1].str() + "\n",
                                                        "text/plain");
                                 }));
}

/// Posts a reply as `user` and tells what came; true where it is what was expected.
bool reply_is(httplib::Client& client, const std::string& user, int expected) {
  const auto headers = user.empty() ? httplib::Headers{} : httplib::Headers{{"X-User", user}};
  const auto response = client.Post("/reply", headers, "me too", "text/plain");
  if (!response) return false;
  std::cout << (user.empty() ? "nobody" : user) << ": " << response->status << "  "
            << response->body << (response->body.ends_with('\n') ? "" : "\n");
  if (response->status != 429) return response->status == expected;
  return expected == 429 && response->get_header_value("Retry-After") == "60" &&
         response->get_header_value("Content-Type") == "application/json" &&
         response->body == R"({"code":500210,"msg":"take a rest"})";
}

/// True where everything was as it should be.
bool show(int port, const std::atomic<int>& replied) {
  httplib::Client client("127.0.0.1", port);
  bool right = reply_is(client, "", 401);
  for (int call = 0; call < 5; ++call) right &= reply_is(client, "alice", 200);
  right &= reply_is(client, "alice", 429);
  right &= reply_is(client, "bob", 200);
  right &= client.Get("/topics/7")->status == 200;
  return right && replied == 6;
}

}  // namespace

int main(int count, char** arguments) {
  httplib::Server server;
  std::atomic<int> replied{0};
  serve_on(server, replied);
  if (count > 1) {
    const std::string_view text(arguments[1]);
    int port = 0;
    std::from_chars(text.data(), text.data() + text.size(), port);
    if (server.listen("127.0.0.1", port)) return 0;
    std::cerr << "httplib_middleware: cannot listen on 127.0.0.1:" << text << '\n';
    return 2;
  }
  const int port = server.bind_to_any_port("127.0.0.1");
  std::thread listening([&server] { server.listen_after_bind(); });
  const bool right = show(port, replied);
  server.stop();
  listening.join();
  return right ? 0 : 1;
}
