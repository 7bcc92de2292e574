#include "server/http/request_reader.hpp"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <optional>
#include <utility>

#include "limit/characters.hpp"

namespace weir::server {
namespace {

namespace http = boost::beast::http;
using boost::system::error_code;

bool is_token_character(char c) noexcept {
  constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c != '\0' && marks.find(c) != std::string_view::npos);
}

bool equal_words(std::string_view text, std::string_view word) noexcept {
  return boost::beast::iequals({text.data(), text.size()}, {word.data(), word.size()});
}

std::string_view view(boost::beast::string_view text) noexcept {
  return {text.data(), text.size()};
}

}  // namespace

/// Beast's parser, which hands over views and the body.
class RequestReader::Parser {
  class Machine final : public http::basic_parser<true> {
   public:
    Machine(HttpRequest& request, std::string& body, const HttpLimits& limits)
        : request_(request), body_(body) {
      header_limit(static_cast<std::uint32_t>(limits.head_bytes));
      body_limit(limits.body_bytes);
    }

   private:
    using Text = boost::beast::string_view;

    void on_request_impl(http::verb, Text, Text, int, error_code&) override {}
    void on_response_impl(int, Text, int, error_code&) override {}
    void on_field_impl(http::field, Text name, Text value, error_code&) override {
      // Behind the body stand trailers, which nobody here asks for.
      if (!is_header_done()) request_.fields.push_back({view(name), view(value)});
    }
    void on_header_impl(error_code&) override {}
    void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
    std::size_t on_body_impl(Text body, error_code&) override {
      body_.append(body.data(), body.size());
      return body.size();
    }
    void on_chunk_header_impl(std::uint64_t, Text, error_code&) override {}
    std::size_t on_chunk_body_impl(std::uint64_t, Text body, error_code&) override {
      body_.append(body.data(), body.size());
      return body.size();
    }
    void on_finish_impl(error_code&) override {}

    HttpRequest& request_;
    std::string& body_;
  };

 public:
  Machine& begin(HttpRequest& request, std::string& body, const HttpLimits& limits) {
    return machine_.emplace(request, body, limits);
  }
  Machine& operator*() { return *machine_; }

 private:
  std::optional<Machine> machine_;
};

RequestReader::RequestReader(const HttpLimits& limits)
    : limits_(limits), parser_(std::make_unique<Parser>()) {}

RequestReader::~RequestReader() = default;

RequestReader::Step RequestReader::refuse(int status, std::string detail) {
  fault_ = {status, std::move(detail)};
  return Step::refused;
}

RequestReader::Read RequestReader::read(std::string_view input) {
  std::size_t consumed = 0;
  if (!in_body_) {
    const Read head = read_head(input);
    if (head.step != Step::incomplete || !in_body_) return head;
    consumed = head.consumed;
  }
  const Read body = read_body(input.substr(consumed));
  return {body.step, consumed + body.consumed};
}

RequestReader::Read RequestReader::read_head(std::string_view input) {
  std::size_t begin = 0;
  if (!in_head_) {
    // Some clients end a body with a line too many. Who sends nothing else is idle.
    while (input.substr(begin).starts_with("\r\n")) begin += 2;
    input.remove_prefix(begin);
    if (input.empty() || input == "\r") return {Step::incomplete, begin};
    if (!is_token_character(input.front())) {
      return {refuse(400, "expected a request line, such as GET /livez HTTP/1.1"), begin};
    }
    in_head_ = true;
    line_ = searched_ = lines_ = 0;
  }
  for (;;) {
    const std::size_t end = input.find('\n', searched_);
    if (end == std::string_view::npos || end >= limits_.head_bytes) {
      searched_ = std::min(input.size(), limits_.head_bytes);
      if (input.size() < limits_.head_bytes) return {Step::incomplete, begin};
      const std::string most = std::to_string(limits_.head_bytes) + " bytes";
      if (lines_ == 0) return {refuse(414, "expected a request line of at most " + most), begin};
      return {refuse(431, "expected a head of at most " + most), begin};
    }
    const std::string_view line = input.substr(line_, end - line_);
    line_ = searched_ = end + 1;
    if (line == "\r" && lines_ > 0) break;
    const Step step = take_line(line);
    if (step == Step::refused) return {step, begin};
    ++lines_;
  }
  in_head_ = false;
  const Step step = finish_head(input.substr(0, line_));
  return {step, begin + line_};
}

RequestReader::Step RequestReader::take_line(std::string_view line) {
  if (line.empty() || line.back() != '\r' || line.find('\r') + 1 != line.size()) {
    return refuse(400, "expected lines that end with CR LF, and no other CR or LF");
  }
  line.remove_suffix(1);
  if (line.find('\0') != std::string_view::npos) return refuse(400, "expected a head without NUL");
  if (lines_ == 0) return take_request_line(line);
  if (line.front() == ' ' || line.front() == '\t') {
    return refuse(400, "expected a field on one line, not folded");
  }
  if (lines_ > limits_.fields) {
    return refuse(431, "expected at most " + std::to_string(limits_.fields) + " fields");
  }
  return Step::incomplete;
}

/// METHOD SP TARGET SP HTTP/1.x, with exactly so many spaces.
RequestReader::Step RequestReader::take_request_line(std::string_view line) {
  const std::size_t method = line.find(' ');
  const std::size_t version = line.rfind(' ');
  if (method == std::string_view::npos || method == version) {
    return refuse(400, "expected METHOD TARGET VERSION in the request line");
  }
  const std::string_view target = line.substr(method + 1, version - method - 1);
  if (target.size() > limits_.target_bytes) {
    return refuse(
        414, "expected a target of at most " + std::to_string(limits_.target_bytes) + " bytes");
  }
  if (!std::ranges::all_of(line.substr(0, method), is_token_character) ||
      !std::ranges::all_of(target, [](char c) { return c > ' ' && c <= '~' && c != '#'; })) {
    return refuse(400, "expected METHOD TARGET VERSION in the request line");
  }
  const std::string_view words = line.substr(version + 1);
  if (words != "HTTP/1.1" && words != "HTTP/1.0") {
    const bool http = words.size() == 8 && words.starts_with("HTTP/");
    return refuse(http ? 505 : 400, "expected version HTTP/1.0 or HTTP/1.1");
  }
  return Step::incomplete;
}

/// The head is whole, and each of its lines is one.
RequestReader::Step RequestReader::finish_head(std::string_view head) {
  head_.assign(head);
  body_.clear();
  framed_ = 0;
  request_.fields.clear();
  auto& machine = parser_->begin(request_, body_, limits_);
  error_code error;
  machine.put(boost::asio::buffer(head_), error);
  if (error == http::error::body_limit) {
    return refuse(413,
                  "expected a body of at most " + std::to_string(limits_.body_bytes) + " bytes");
  }
  if (error) return refuse(400, "expected a head as in RFC 9112: " + error.message());
  const std::string_view line = std::string_view(head_).substr(0, head_.find('\r'));
  const std::size_t method = line.find(' ');
  const std::size_t version = line.rfind(' ');
  request_.method = line.substr(0, method);
  request_.http_1_0 = line.ends_with("1.0");
  request_.keep_alive = machine.keep_alive();
  if (const Step step = take_target(line.substr(method + 1, version - method - 1));
      step == Step::refused) {
    return step;
  }
  for (const gateway::Header& field : request_.fields) {
    // A view into the head. Whoever looks for a name finds it in one case.
    char* const name = head_.data() + (field.name.data() - head_.data());
    std::transform(name, name + field.name.size(), name, small);
  }
  if (const Step step = check_fields(); step == Step::refused) return step;
  request_.body = {};
  if (machine.is_done()) return Step::complete;
  in_body_ = true;
  const std::string_view expects = request_.field("expect");
  if (expects.empty() || request_.http_1_0) return Step::incomplete;
  if (!equal_words(expects, "100-continue")) {
    return refuse(417, "Expect: expected 100-continue, or nothing");
  }
  return Step::wants_continue;
}

/// /path?query, also behind http://host; or * alone.
RequestReader::Step RequestReader::take_target(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!equal_words(target.substr(0, scheme.size()), scheme)) continue;
    const std::size_t path = target.find_first_of("/?", scheme.size());
    if (path == scheme.size()) return refuse(400, "expected a host in the target");
    target = path == std::string_view::npos ? "/" : target.substr(path);
    if (target.front() == '?') return refuse(400, "expected a path in the target");
    break;
  }
  if (target.front() != '/' && !(target == "*" && request_.method == "OPTIONS")) {
    return refuse(400, "expected a target that begins with /");
  }
  const std::size_t query = target.find('?');
  request_.path = target.substr(0, query);
  request_.query = query == std::string_view::npos ? std::string_view{} : target.substr(query + 1);
  if (request_.path.find("%00") != std::string_view::npos) {
    return refuse(400, "expected a target without %00");
  }
  return Step::incomplete;
}

/// What Beast leaves to us.
RequestReader::Step RequestReader::check_fields() {
  std::size_t hosts = 0;
  for (const auto& [name, value] : request_.fields) {
    if (name == "host") {
      ++hosts;
      if (value.find_first_of(" ,/@") != std::string_view::npos) {
        return refuse(400, "Host: expected HOST or HOST:PORT");
      }
    }
    if (name != "transfer-encoding") continue;
    if (request_.http_1_0) return refuse(400, "Transfer-Encoding: expected none in HTTP/1.0");
    if (!equal_words(value, "chunked")) {
      return refuse(501, "Transfer-Encoding: expected chunked, or none");
    }
  }
  if (hosts > 1 || (hosts == 0 && !request_.http_1_0)) {
    return refuse(400, "expected one Host field");
  }
  return Step::incomplete;
}

RequestReader::Read RequestReader::read_body(std::string_view input) {
  auto& machine = **parser_;
  // What ends a body of chunks is taken in whole and is no shorter; of less than that Beast asserts
  // that it never sees it twice.
  const std::size_t least = machine.chunked() ? std::string_view("0\r\n\r\n").size() : 1;
  std::size_t consumed = 0;
  while (input.size() - consumed >= least && !machine.is_done()) {
    error_code error;
    // A chunk's head and the trailers are taken in whole, so that they have the bound of heads.
    const std::string_view next = input.substr(consumed, limits_.head_bytes);
    const std::size_t taken = machine.put(boost::asio::buffer(next.data(), next.size()), error);
    consumed += taken;
    framed_ += taken;
    if (error == http::error::need_more) break;
    if (error == http::error::body_limit || body_.size() > limits_.body_bytes ||
        framed_ > 2 * limits_.body_bytes) {
      return {refuse(413,
                     "expected a body of at most " + std::to_string(limits_.body_bytes) + " bytes"),
              consumed};
    }
    if (error) {
      return {refuse(400, "expected chunks as in RFC 9112: " + error.message()), consumed};
    }
  }
  if (!machine.is_done()) {
    if (input.size() - consumed > limits_.head_bytes) {
      return {refuse(400, "expected chunks with short heads"), consumed};
    }
    return {Step::incomplete, consumed};
  }
  in_body_ = false;
  request_.body = body_;
  return {Step::complete, consumed};
}

}  // namespace weir::server
