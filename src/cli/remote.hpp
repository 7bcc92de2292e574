// One question to a server, and its answer.
#pragma once

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

/// Connects, authenticates where there is a password, sends one command and waits for its reply;
/// two seconds for each step.
Expected<wire::Reply, RemoteError> ask(const Remote& remote,
                                       std::span<const std::string_view> command);

}  // namespace weir::cli
