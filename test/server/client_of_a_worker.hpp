// A worker on a thread of its own, and one client of it.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/local/stream_protocol.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "server/worker.hpp"

namespace weir::test {

class ClientOfAWorker : public testing::Test {
 protected:
  void SetUp() override {
    worker_.emplace(service_, limits_);
    prepare(*worker_);
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    client_ = ends[0];
    if (server_sends_ > 0) {
      ::setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &server_sends_, sizeof server_sends_);
    }
    worker_->adopt({.protocol = boost::asio::local::stream_protocol(),
                    .descriptor = ends[1],
                    .peer = "test",
                    .speaks = speaks_});
    thread_ = std::thread([this] { worker_->run(); });
  }

  void TearDown() override {
    hang_up();
    worker_->stop();
    if (thread_.joinable()) thread_.join();
  }

  /// Before the client comes.
  virtual void prepare(server::Worker&) {}

  /// Has the worker drain, and returns once it does: it takes on nobody then.
  void drain() {
    worker_->drain();
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    worker_->adopt({boost::asio::local::stream_protocol(), ends[1], "too late"});
    char byte = 0;
    EXPECT_EQ(::recv(ends[0], &byte, 1, 0), 0);
    ::close(ends[0]);
  }

  void hang_up() {
    if (client_ >= 0) ::close(client_);
    client_ = -1;
  }

  void say(const std::string& lines) const {
    for (std::size_t sent = 0; sent < lines.size();) {
      const ssize_t count = ::send(client_, lines.data() + sent, lines.size() - sent, MSG_NOSIGNAL);
      ASSERT_GT(count, 0);
      sent += static_cast<std::size_t>(count);
    }
  }

  /// The next bytes up to and with `end`, or what came before the connection ended.
  std::string hear(std::string_view end) {
    while (heard_.find(end) == std::string::npos) {
      pollfd readable{client_, POLLIN, 0};
      if (::poll(&readable, 1, 20'000) <= 0) return "nothing came; before: " + heard_;
      char bytes[4096];
      const ssize_t count = ::recv(client_, bytes, sizeof bytes, 0);
      if (count <= 0) return std::exchange(heard_, {}) + "[end]";
      heard_.append(bytes, static_cast<std::size_t>(count));
    }
    const std::size_t size = heard_.find(end) + end.size();
    const std::string found = heard_.substr(0, size);
    heard_.erase(0, size);
    return found;
  }

  bool nothing_came() const {
    pollfd readable{client_, POLLIN, 0};
    return heard_.empty() && ::poll(&readable, 1, 0) == 0;
  }

  void eventually(const std::function<bool()>& holds) const {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{20};
    while (!holds()) {
      ASSERT_LT(std::chrono::steady_clock::now(), until);
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
  }

  int server_sends_ = 0;  ///< bytes that the kernel takes from it; 0: as many as usual
  server::Speaks speaks_ = server::Speaks::resp;
  server::ConnectionLimits limits_;
  Rules rules_;
  server::Service service_{rules_, Table::Settings{}, {.level = server::LogLevel::off}};
  std::optional<server::Worker> worker_;
  std::thread thread_;
  int client_ = -1;
  std::string heard_;
};

}  // namespace weir::test
