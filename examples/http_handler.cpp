// An HTTP server that lets each client ask so often, and tells the others when to come again.
//
//   http_handler 8080   serves 127.0.0.1:8080 until it is interrupted
//   http_handler        asks itself, from two addresses of this machine, and shows the answers
//
// It shows: one limit for each client's address; a refusal is answered 429 with Retry-After, in
// whole seconds, rounded up: who comes again after them is never refused for coming early.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <string>
#include <thread>

#include "weir/local/keyed_limiter.hpp"

namespace {

using namespace std::chrono_literals;
namespace net = boost::asio;
namespace http = boost::beast::http;
using net::use_awaitable;
using net::ip::tcp;
using Request = http::request<http::empty_body>;
using Response = http::response<http::string_body>;

using PerClient = weir::KeyedLimiter<std::string>;

/// Whole seconds after which the refused request would be granted.
std::chrono::seconds retry_after(const weir::Outcome& refused, weir::SteadyInstant now) {
  return std::chrono::ceil<std::chrono::seconds>(refused.wait(now));
}

Response answer(const Request& request, const std::string& address, PerClient& limit) {
  Response response(http::status::ok, request.version());
  response.keep_alive(request.keep_alive());
  const weir::Outcome outcome = limit.try_acquire(address);
  if (outcome) {
    response.body() = "hello, " + address + "\n";
  } else {
    response.result(http::status::too_many_requests);
    // The wait from now is shorter than it was when the limiter decided, never too short.
    const auto seconds = retry_after(outcome, std::chrono::steady_clock::now());
    response.set(http::field::retry_after, std::to_string(seconds.count()));
    response.body() = "come again in " + std::to_string(seconds.count()) + " s\n";
  }
  response.prepare_payload();
  return response;
}

net::awaitable<void> serve(tcp::socket client, PerClient& limit) {
  try {
    const std::string address = client.remote_endpoint().address().to_string();
    boost::beast::flat_buffer buffer;
    for (bool more = true; more;) {
      Request request;
      co_await http::async_read(client, buffer, request, use_awaitable);
      Response response = answer(request, address, limit);
      co_await http::async_write(client, response, use_awaitable);
      more = response.keep_alive();
    }
  } catch (const boost::system::system_error& end) {
    if (end.code() != http::error::end_of_stream) std::cerr << "client: " << end.what() << '\n';
  }
}

net::awaitable<void> listen(tcp::acceptor& acceptor, PerClient& limit) {
  for (;;) {
    tcp::socket client = co_await acceptor.async_accept(use_awaitable);
    net::co_spawn(acceptor.get_executor(), serve(std::move(client), limit), net::detached);
  }
}

/// A client with an address of its own, one of this machine's many.
class Client {
 public:
  Client(const char* address, tcp::endpoint server) : socket_(io_) {
    socket_.open(tcp::v4());
    socket_.bind({net::ip::make_address(address), 0});
    socket_.connect(server);
  }

  Response get() {
    Request request(http::verb::get, "/", 11);
    request.set(http::field::host, "localhost");
    http::write(socket_, request);
    Response response;
    http::read(socket_, buffer_, response);
    std::cout << response.result_int() << "  " << response.body();
    return response;
  }

 private:
  net::io_context io_;
  tcp::socket socket_;
  boost::beast::flat_buffer buffer_;
};

/// True where everything was as it should be.
bool show(tcp::endpoint server) {
  Client one("127.0.0.1", server);
  Client other("127.0.0.2", server);
  bool right = true;
  for (int call = 0; call < 3; ++call) right &= one.get().result() == http::status::ok;
  const Response refused = one.get();
  right &= refused.result() == http::status::too_many_requests;
  right &= other.get().result() == http::status::ok;
  right &= refused[http::field::retry_after] == "1";  // not 0, though it is only half a second
  std::this_thread::sleep_for(1s);
  return right && one.get().result() == http::status::ok;
}

std::uint16_t port_of(const char* text) {
  std::uint16_t port = 0;
  const char* const end = text + std::strlen(text);
  const auto read = std::from_chars(text, end, port);
  return read.ec == std::errc() && read.ptr == end ? port : std::uint16_t{0};
}

}  // namespace

int main(int count, char** arguments) {
  const std::uint16_t port = count > 1 ? port_of(arguments[1]) : std::uint16_t{0};
  if (count > 1 && port == 0) {
    std::cerr << "http_handler: '" << arguments[1] << "': expected a port, 1 to 65535\n";
    return 2;
  }
  PerClient limit("2/s burst 3");
  net::io_context io;
  tcp::acceptor acceptor(io, {net::ip::address_v4::loopback(), port});
  net::co_spawn(io, listen(acceptor, limit), net::detached);
  net::signal_set interrupted(io, SIGINT, SIGTERM);
  interrupted.async_wait([&](boost::system::error_code, int) { io.stop(); });
  if (port != 0) {
    io.run();
    return 0;
  }
  std::thread server([&] { io.run(); });
  const bool right = show(acceptor.local_endpoint());
  io.stop();
  server.join();
  return right ? 0 : 1;
}
