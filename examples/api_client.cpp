// A client of somebody's API that paces itself, and does as it is told when it is told to wait.
//
// Against a server of its own on 127.0.0.1, which grants less than its clients believe.
//
// It shows: a limiter before each call keeps the agreed pace; a 429 with Retry-After stops all
// calls until then; after that the pace goes on without a burst.
#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <charconv>
#include <chrono>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>

#include "weir/local/limiter.hpp"

namespace {

using namespace std::chrono_literals;
namespace net = boost::asio;
namespace http = boost::beast::http;
using net::ip::tcp;
using Request = http::request<http::empty_body>;
using Response = http::response<http::string_body>;

// ---- The client: this is what the example is about ----

/// What Retry-After says; a second where it says nothing that a program can use (a date, say).
std::chrono::seconds retry_after(const Response& response) {
  const auto field = response[http::field::retry_after];
  std::chrono::seconds::rep seconds = 0;
  const auto read = std::from_chars(field.data(), field.data() + field.size(), seconds);
  const bool usable = read.ec == std::errc() && seconds >= 0;
  return std::chrono::seconds{usable ? std::min<std::chrono::seconds::rep>(seconds, 3'600) : 1};
}

class PacedClient {
 public:
  explicit PacedClient(tcp::endpoint server) : socket_(io_) { socket_.connect(server); }

  /// Asks until it is answered.
  Response get(const std::string& path) {
    for (;;) {
      if (!pace_.acquire()) continue;  // too many wait for the moment
      Response response = ask(path);
      if (response.result() != http::status::too_many_requests) return response;
      ++refused_;
      pause(retry_after(response));
    }
  }

  int refused() const noexcept { return refused_; }

 private:
  /// Takes for nobody all that would be granted until then, so that whoever asks stands behind it.
  void pause(std::chrono::nanoseconds length) {
    const weir::SteadyInstant until = std::chrono::steady_clock::now() + length;
    for (weir::SteadyInstant reached{}; reached < until;) {
      auto unused = pace_.reserve(burst);
      if (!unused) return;  // more than 65 536 stand in line, and that is a pause too
      reached = unused.ready_at();
      unused.commit();
    }
  }

  Response ask(const std::string& path) {
    Request request(http::verb::get, path, 11);
    request.set(http::field::host, "localhost");
    http::write(socket_, request);
    Response response;
    http::read(socket_, buffer_, response);
    return response;
  }

  static constexpr weir::Cost burst = 5;

  weir::TokenBucket pace_{{.count = 50, .period = 1s, .burst = burst}};
  net::io_context io_;
  tcp::socket socket_;
  boost::beast::flat_buffer buffer_;
  int refused_ = 0;
};

// ---- The server: it counts who comes too early ----

class Server {
 public:
  Server() : acceptor_(io_, {net::ip::address_v4::loopback(), 0}), thread_([this] { serve(); }) {}
  ~Server() { thread_.join(); }

  tcp::endpoint endpoint() const { return acceptor_.local_endpoint(); }
  int came_early() const noexcept { return came_early_; }

 private:
  void serve() {
    try {
      tcp::socket client = acceptor_.accept();
      boost::beast::flat_buffer buffer;
      for (;;) {
        Request request;
        http::read(client, buffer, request);
        http::write(client, answer());
      }
    } catch (const boost::system::system_error& end) {
      if (end.code() != http::error::end_of_stream) std::cerr << "server: " << end.what() << '\n';
    }
  }

  Response answer() {
    const auto now = std::chrono::steady_clock::now();
    if (now < shut_until_) ++came_early_;
    Response response(http::status::ok, 11);
    if (!limit_.try_acquire()) {
      response.result(http::status::too_many_requests);
      response.set(http::field::retry_after, "1");
      shut_until_ = now + 1s;
    }
    response.prepare_payload();
    return response;
  }

  weir::TokenBucket limit_{{.count = 10, .period = 1s, .burst = 10}};
  weir::SteadyInstant shut_until_{};
  int came_early_ = 0;
  net::io_context io_;
  tcp::acceptor acceptor_;
  std::thread thread_;
};

}  // namespace

int main() {
  const auto start = std::chrono::steady_clock::now();
  int answered = 0;
  int refused = 0;
  int came_early = 0;
  {
    Server server;
    {
      PacedClient client(server.endpoint());
      for (int call = 0; call < 20; ++call) {
        answered += client.get("/").result() == http::status::ok;
      }
      refused = client.refused();
    }
    came_early = server.came_early();
  }
  const auto took = std::chrono::steady_clock::now() - start;
  std::cout << answered << " answers in " << took / 1ms << " ms, " << refused
            << " refused, too early " << came_early << '\n';
  return answered == 20 && refused > 0 && came_early == 0 ? 0 : 1;
}
