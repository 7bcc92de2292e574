// The first words on a connection: who we are, and what the server can do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "redis/error_reply.hpp"
#include "wire/resp_reader.hpp"

namespace weir::redis {

/// What a server turned out to be.
struct ServerFacts {
  enum class Protocol : std::uint8_t { resp2 = 2, resp3 = 3 };
  enum class Mode : std::uint8_t { unknown, standalone, cluster, sentinel };
  enum class Role : std::uint8_t { unknown, master, replica };

  Protocol protocol = Protocol::resp2;
  Mode mode = Mode::unknown;
  Role role = Role::unknown;  ///< when it was asked; only told by RESP3
  std::string version{};      ///< "7.0.15"; empty where it was not told; at most 64 bytes
  bool module = false;        ///< it has a module named `weir`

  bool operator==(const ServerFacts&) const = default;
};

/// Says hello, and asks, one command after the other: HELLO 3 with the password, else AUTH and
/// RESP2; CLIENT SETNAME, which may fail; SELECT; INFO where HELLO told nothing. Which scripts
/// there are the first call shows (ScriptCaller).
///
///   auto handshake = Handshake(settings);
///   send handshake.command(); handshake.hear(reply); until it is done() or has an error()
///
/// Bound    five commands
/// Threads  one at a time
/// Errors   error() names the step and what the server said of it
class Handshake {
 public:
  enum class Step : std::uint8_t {
    hello,
    auth,
    set_name,
    select,
    info,
    done,
  };

  struct Settings {
    std::string user{};      ///< empty: `default`
    std::string password{};  ///< empty: none is sent
    std::string client_name = "weir";
    std::int32_t db = 0;
  };

  struct Error {
    Step step = Step::hello;
    ErrorKind kind = ErrorKind::other;
    std::string message{};  ///< what the server said, at most 200 bytes in one line

    bool operator==(const Error&) const = default;
  };

  explicit Handshake(Settings settings) : settings_(std::move(settings)) {}

  /// The framed command of this step; empty once it is over. It may hold the password.
  std::string command() const;

  /// Takes the reply to command().
  void hear(const wire::Reply& reply);

  bool done() const noexcept { return step_ == Step::done; }
  Step step() const noexcept { return step_; }
  const std::optional<Error>& error() const noexcept { return error_; }

  /// Requires done().
  const ServerFacts& facts() const noexcept { return facts_; }

 private:
  bool wants(Step step) const noexcept;
  void advance() noexcept;
  void hear_hello(const wire::Reply& reply);
  void hear_info(const wire::Reply& reply);
  void fail(const wire::Reply& reply);

  Settings settings_;
  Step step_ = Step::hello;
  ServerFacts facts_;
  std::optional<Error> error_;
};

const char* name(Handshake::Step step) noexcept;

}  // namespace weir::redis
