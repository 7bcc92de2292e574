// One question to a server, and its answer.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "cli/verb.hpp"
#include "weir/vocabulary.hpp"
#include "wire/resp_reader.hpp"

namespace weir::cli {

/// Why there is no answer: a sentence that says what to do.
struct RemoteError {
  std::string message;
  ExitCode code = ExitCode::unreachable;
};

/// Which server, and how it knows us. Files may be empty.
struct Remote {
  std::string address = "127.0.0.1:7379";  ///< HOST:PORT, tls:HOST:PORT or unix:PATH
  std::string password_file{};
  std::string tls_ca{};  ///< whom to trust; empty: whom this machine trusts
  std::string tls_certificate{};
  std::string tls_key{};
};

/// The options by which a verb is told which server.
void add_options(CLI::App& command, Remote& remote);

/// A server that is asked again and again; two seconds for each step.
///
/// Threads  one at a time
/// Errors   after one of ask() the connection is of no use
class Conversation {
 public:
  /// Connects, and authenticates where there is a password.
  static Expected<Conversation, RemoteError> begin(const Remote& remote);
  Conversation(Conversation&&) noexcept;
  Conversation& operator=(Conversation&&) noexcept;
  ~Conversation();

  /// Sends one command and waits for its reply.
  Expected<wire::Reply, RemoteError> ask(std::span<const std::string_view> command);

 private:
  class Connection;
  explicit Conversation(std::unique_ptr<Connection> connection);

  std::unique_ptr<Connection> connection_;
};

/// What an error reply of the server means to people.
RemoteError said_by_server(const wire::Reply& reply);

/// One command in a conversation of its own.
Expected<wire::Reply, RemoteError> ask(const Remote& remote,
                                       std::span<const std::string_view> command);

}  // namespace weir::cli
