// What a client asks over HTTP, and what it is answered.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gateway/call.hpp"

namespace weir::server {

/// One request, whole. Views live until its handler returns.
struct HttpRequest {
  std::string_view method;
  std::string_view path;   ///< as it was sent: nothing is decoded, nothing normalised
  std::string_view query;  ///< behind '?', as it was sent
  std::vector<gateway::Header> fields;
  std::string_view body;
  std::string_view peer;
  bool http_1_0 = false;
  bool keep_alive = true;

  /// The value of the first field of the name, in lower case; empty where there is none.
  std::string_view field(std::string_view name) const noexcept;
};

/// What to tell a client.
struct HttpAnswer {
  int status = 200;
  std::string_view content_type{};  ///< text that outlives the answer; empty: no body
  std::string body{};
  std::string fields{};  ///< further lines, each with its end
};

/// The standard's words for a status; empty for one that is not used here.
std::string_view reason_of(int status) noexcept;

/// An error for programs and people: application/problem+json (RFC 9457).
HttpAnswer problem(int status, std::string_view detail);

/// One line for people and shells.
HttpAnswer plain_text(int status, std::string line);

/// JSON for programs.
HttpAnswer json_answer(int status, std::string body);

/// How an answer is written to its connection.
struct HttpFraming {
  bool head_only = false;   ///< to HEAD: the length of a body, and no body
  bool close = false;       ///< nothing follows on this connection
  bool keep_alive = false;  ///< says so, to HTTP/1.0
};

/// Appends the answer as HTTP/1.1, its Date as given.
void write_answer(const HttpAnswer& answer, HttpFraming framing, std::string_view date,
                  std::string& output);

}  // namespace weir::server
