#include "server/http/http_message.hpp"

#include <algorithm>

#include "wire/json.hpp"

namespace weir::server {

std::string_view HttpRequest::field(std::string_view name) const noexcept {
  const auto found = std::ranges::find(fields, name, &gateway::Header::name);
  return found != fields.end() ? found->value : std::string_view{};
}

std::string_view reason_of(int status) noexcept {
  switch (status) {
    case 100: return "Continue";
    case 200: return "OK";
    case 204: return "No Content";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 417: return "Expectation Failed";
    case 422: return "Unprocessable Content";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 505: return "HTTP Version Not Supported";
    default: return {};
  }
}

HttpAnswer problem(int status, std::string_view detail) {
  wire::Json body = wire::Json::object();
  body.member("title", reason_of(status)).member("status", std::int64_t{status});
  body.member("detail", detail);
  return {.status = status, .content_type = "application/problem+json", .body = body.text() + "\n"};
}

HttpAnswer plain_text(int status, std::string line) {
  return {.status = status,
          .content_type = "text/plain; charset=utf-8",
          .body = std::move(line) + "\n"};
}

HttpAnswer json_answer(int status, std::string body) {
  return {.status = status, .content_type = "application/json", .body = std::move(body) + "\n"};
}

void write_answer(const HttpAnswer& answer, HttpFraming framing, std::string_view date,
                  std::string& output) {
  output.append("HTTP/1.1 ").append(std::to_string(answer.status)).append(" ");
  output.append(reason_of(answer.status)).append("\r\nDate: ").append(date).append("\r\n");
  if (!answer.content_type.empty()) {
    output.append("Content-Type: ").append(answer.content_type).append("\r\n");
  }
  if (answer.status != 204) {
    output.append("Content-Length: ").append(std::to_string(answer.body.size())).append("\r\n");
  }
  output += answer.fields;
  if (framing.close) {
    output += "Connection: close\r\n";
  } else if (framing.keep_alive) {
    output += "Connection: keep-alive\r\n";
  }
  output += "\r\n";
  if (!framing.head_only) output += answer.body;
}

}  // namespace weir::server
