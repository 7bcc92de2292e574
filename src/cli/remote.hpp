// One question to a server, and its answer.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "weir/vocabulary.hpp"
#include "wire/resp_reader.hpp"

namespace weir::cli {

/// Why there is no answer: a sentence that says what to do.
struct RemoteError {
  std::string message;
};

/// Connects to HOST:PORT, sends one command and waits for its reply, two seconds for each.
Expected<wire::Reply, RemoteError> ask(const std::string& server,
                                       std::span<const std::string_view> command);

}  // namespace weir::cli
