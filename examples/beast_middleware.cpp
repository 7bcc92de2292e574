// Access limits on the handlers of a Boost.Beast server: five replies a minute for each user.
//
//   beast_middleware 8080   serves 127.0.0.1:8080 until it is interrupted
//   beast_middleware        asks itself, and shows the answers
//
// It shows: limits are declared once, and asked before the router; over one the application's own
// JSON is answered, with Retry-After, and the handler does not run; who is not logged in is told
// so, and counts for nothing.
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "weir/http/beast.hpp"

namespace {

using namespace std::chrono_literals;
namespace net = boost::asio;
namespace http = boost::beast::http;
using net::ip::tcp;
using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;

class Forum {
 public:
  /// The response to a request from an address.
  Response answer(const Request& request, const std::string& address) {
    // A service looks a session up here. A header that any client may write proves nothing.
    const auto user = request["X-User"];
    if (auto refused = weir::http::refusal(limits_, request,
                                           {.user = {user.data(), user.size()}, .ip = address})) {
      return *std::move(refused);
    }
    Response response(http::status::ok, request.version());
    response.keep_alive(request.keep_alive());
    if (request.method() == http::verb::post && request.target() == "/reply") {
      ++replied_;
      response.body() = "posted\n";
    } else {
      response.result(http::status::not_found);
    }
    response.prepare_payload();
    return response;
  }

  int replied() const noexcept { return replied_; }

 private:
  const weir::http::AccessLimits limits_ = weir::http::AccessLimits::of(
      {{.method = "POST",
        .path = "/reply",
        .max_count = 5,
        .within = 60s,
        .need_login = true,
        .answer = {429, "application/json", R"({"code":500210,"msg":"take a rest"})"},
        .login_answer = {401, "application/json", R"({"code":500211,"msg":"log in first"})"}}});
  std::atomic<int> replied_{0};
};

void serve(tcp::socket client, Forum& forum) {
  boost::system::error_code ended;
  const std::string address = client.remote_endpoint(ended).address().to_string();
  boost::beast::flat_buffer buffer;
  while (!ended) {
    Request request;
    http::read(client, buffer, request, ended);
    if (ended) return;
    const Response response = forum.answer(request, address);
    http::write(client, response, ended);
    if (!response.keep_alive()) return;
  }
}

/// A thread for each client, for as long as it stays.
[[noreturn]] void listen(tcp::acceptor& acceptor, Forum& forum) {
  for (;;) {
    std::thread(serve, acceptor.accept(), std::ref(forum)).detach();
  }
}

class Client {
 public:
  explicit Client(tcp::endpoint server) : socket_(io_) { socket_.connect(server); }

  Response post(std::string_view user) {
    Request request(http::verb::post, "/reply", 11);
    request.set(http::field::host, "localhost");
    if (!user.empty()) request.set("X-User", user);
    request.body() = "me too";
    request.prepare_payload();
    http::write(socket_, request);
    Response response;
    http::read(socket_, buffer_, response);
    std::cout << (user.empty() ? "nobody" : user) << ": " << response.result_int() << "  "
              << response.body() << (response.body().ends_with('\n') ? "" : "\n");
    return response;
  }

 private:
  net::io_context io_;
  tcp::socket socket_;
  boost::beast::flat_buffer buffer_;
};

/// True where everything was as it should be.
bool show(tcp::endpoint server, const Forum& forum) {
  Client client(server);
  bool right = client.post("").result() == http::status::unauthorized;
  for (int call = 0; call < 5; ++call) right &= client.post("alice").result() == http::status::ok;
  const Response refused = client.post("alice");
  right &= refused.result() == http::status::too_many_requests;
  right &= refused[http::field::retry_after] == "60";
  right &= refused[http::field::content_type] == "application/json";
  right &= refused.body() == R"({"code":500210,"msg":"take a rest"})";
  right &= client.post("bob").result() == http::status::ok;
  return right && forum.replied() == 6;
}

}  // namespace

int main(int count, char** arguments) {
  std::uint16_t port = 0;
  if (count > 1) {
    const std::string_view text(arguments[1]);
    std::from_chars(text.data(), text.data() + text.size(), port);
  }
  net::io_context io;
  tcp::acceptor acceptor(io, {net::ip::address_v4::loopback(), port});
  Forum forum;
  if (count > 1) listen(acceptor, forum);

  std::thread server([&] { serve(acceptor.accept(), forum); });
  const bool right = show(acceptor.local_endpoint(), forum);
  server.join();
  return right ? 0 : 1;
}
