// An echo server of coroutines, on Asio, that answers no line before its turn.
//
//   coroutine_server 7007   serves 127.0.0.1:7007 until it is interrupted: try `nc 127.0.0.1 7007`
//   coroutine_server        serves one client of its own, and tells how long that took
//
// It shows: weir::async_acquire() is an operation of Asio like any other. It is awaited, it fits
// `||` with a timer or a signal, and when it is cancelled its place in line is given back.
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <string>

#include "weir/local/asio.hpp"

namespace {

using namespace std::chrono_literals;
using namespace boost::asio::experimental::awaitable_operators;
namespace net = boost::asio;
using net::use_awaitable;
using net::ip::tcp;

constexpr std::size_t longest_line = 4'096;

/// What all clients have together. Each has a part of it on top: see serve().
struct Limits {
  weir::TokenBucket all{{.count = 1'000, .period = 1s, .burst = 100}};
};

net::awaitable<void> serve(tcp::socket client, Limits& limits) {
  weir::TokenBucket own({.count = 50, .period = 1s, .burst = 5});
  std::string buffer;
  try {
    for (;;) {
      const std::size_t length = co_await net::async_read_until(
          client, net::dynamic_buffer(buffer, longest_line), '\n', use_awaitable);
      // Its own first: who waits for that does not stand in the line of all. Who only waits is
      // refused where 65 536 stand in line already: then this client is let go.
      if (!co_await weir::async_acquire(own, 1, use_awaitable)) co_return;
      if (!co_await weir::async_acquire(limits.all, 1, use_awaitable)) co_return;
      co_await net::async_write(client, net::buffer(buffer, length), use_awaitable);
      buffer.erase(0, length);
    }
  } catch (const boost::system::system_error& end) {
    if (end.code() != net::error::eof) std::cerr << "client: " << end.what() << '\n';
  }
}

net::awaitable<void> listen(tcp::acceptor& acceptor, Limits& limits) {
  for (;;) {
    tcp::socket client = co_await acceptor.async_accept(use_awaitable);
    net::co_spawn(acceptor.get_executor(), serve(std::move(client), limits), net::detached);
  }
}

/// Sends lines all at once and returns how long the answers took; -1 ms where they did not come.
net::awaitable<std::chrono::milliseconds> ask(tcp::endpoint server, int lines) {
  tcp::socket socket(co_await net::this_coro::executor);
  co_await socket.async_connect(server, use_awaitable);
  const auto start = std::chrono::steady_clock::now();
  std::string sent;
  for (int line = 0; line < lines; ++line) sent += "line " + std::to_string(line) + "\n";
  co_await net::async_write(socket, net::buffer(sent), use_awaitable);

  net::steady_timer timeout(socket.get_executor(), 10s);
  std::string answered(sent.size(), '\0');
  const auto first = co_await (net::async_read(socket, net::buffer(answered), use_awaitable) ||
                               timeout.async_wait(use_awaitable));
  if (first.index() != 0 || answered != sent) co_return -1ms;
  co_return std::chrono::floor<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start);
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
    std::cerr << "coroutine_server: '" << arguments[1] << "': expected a port, 1 to 65535\n";
    return 2;
  }
  Limits limits;  // outlives the context, whose end gives back the places of those who still wait
  net::io_context io;
  tcp::acceptor acceptor(io, {net::ip::address_v4::loopback(), port});
  net::co_spawn(io, listen(acceptor, limits), net::detached);

  std::chrono::milliseconds took{};
  net::signal_set interrupted(io, SIGINT, SIGTERM);
  if (port != 0) {
    interrupted.async_wait([&](boost::system::error_code, int) { io.stop(); });
  } else {
    net::co_spawn(io, ask(acceptor.local_endpoint(), 20),
                  [&](std::exception_ptr thrown, std::chrono::milliseconds answered_after) {
                    if (thrown) std::rethrow_exception(thrown);
                    took = answered_after;
                    io.stop();
                  });
  }
  io.run();
  if (port != 0) return 0;
  std::cout << "20 lines in " << took.count() << " ms\n";
  return took >= 300ms ? 0 : 1;  // 5 at once, and 15 at 50 a second
}
