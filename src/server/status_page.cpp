#include "server/status_page.hpp"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <string_view>
#include <utility>

#include "server/http/status_answers.hpp"

namespace weir::server {
namespace {

namespace http = boost::beast::http;
using boost::asio::ip::tcp;
using boost::system::error_code;
using Response = http::response<http::string_body>;

constexpr std::size_t most_connections = 64;
constexpr std::chrono::seconds patience{5};

Response response_of(const HttpAnswer& answer) {
  Response response(static_cast<http::status>(answer.status), 11);
  response.set(http::field::content_type, answer.content_type);
  response.set(http::field::cache_control, "no-store");
  response.body() = answer.body;
  return response;
}

Response route(const Service& service, const http::request<http::empty_body>& request) {
  if (request.method() != http::verb::get && request.method() != http::verb::head) {
    Response response = response_of(plain_text(405, "only GET and HEAD"));
    response.set(http::field::allow, "GET, HEAD");
    return response;
  }
  const std::string_view target(request.target().data(), request.target().size());
  const std::size_t query = std::min(target.find('?'), target.size());
  const auto answer = status_answer(
      service, {.path = target.substr(0, query),
                .query = query < target.size() ? target.substr(query + 1) : std::string_view{}});
  return response_of(answer ? *answer : plain_text(404, "here are /metrics, /livez and /readyz"));
}

}  // namespace

struct StatusPage::State : std::enable_shared_from_this<State> {
  State(const Service& watched, tcp::acceptor listening)
      : service(watched), acceptor(std::move(listening)), pause(acceptor.get_executor()) {}

  const Service& service;
  tcp::acceptor acceptor;
  boost::asio::steady_timer pause;  ///< after an accept that failed
  std::size_t connections = 0;

  /// Shared with every handler that will accept again; a use count of one says that none waits.
  std::shared_ptr<const bool> waits = std::make_shared<bool>(true);

  void accept() {
    acceptor.async_accept(
        [self = shared_from_this(), waiting = waits](error_code error, tcp::socket socket) {
          if (error == boost::asio::error::operation_aborted) return;
          if (error) {
            self->pause.expires_after(std::chrono::milliseconds(100));
            self->pause.async_wait([self, waiting](error_code stopped) {
              if (!stopped) self->accept();
            });
            return;
          }
          self->accept();
          if (self->connections < most_connections) {
            std::make_shared<Visit>(self, std::move(socket))->read();
          }
        });
  }

  /// One connection.
  struct Visit : std::enable_shared_from_this<Visit> {
    Visit(std::shared_ptr<State> owner, tcp::socket socket)
        : state(std::move(owner)), stream(std::move(socket)) {
      ++state->connections;
    }
    ~Visit() { --state->connections; }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

    std::shared_ptr<State> state;
    boost::beast::tcp_stream stream;
    boost::beast::flat_buffer buffer{16 << 10};
    std::optional<http::request_parser<http::empty_body>> parser;
    Response response;

    void read() {
      parser.emplace();
      parser->header_limit(8 << 10);
      parser->body_limit(0);
      stream.expires_after(patience);
      http::async_read(
          stream, buffer, *parser,
          [self = shared_from_this()](error_code error, std::size_t) { self->answer(error); });
    }

    void answer(error_code error) {
      if (error && error.category() != http::make_error_code(http::error{}).category()) return;
      if (error == http::error::end_of_stream) return;
      bool keep = false;
      bool head = false;
      if (error) {
        response = response_of(plain_text(400, "expected an HTTP/1 request without a body"));
      } else {
        response = route(state->service, parser->get());
        keep = parser->get().keep_alive() && !state->service.draining;
        head = parser->get().method() == http::verb::head;
      }
      response.keep_alive(keep);
      response.prepare_payload();
      if (head) response.body().clear();
      stream.expires_after(patience);
      http::async_write(stream, response,
                        [self = shared_from_this(), keep](error_code failed, std::size_t) {
                          if (!failed && keep) return self->read();
                          error_code ignored;
                          self->stream.socket().shutdown(tcp::socket::shutdown_send, ignored);
                        });
    }
  };
};

StatusPage::StatusPage(const Service& service, tcp::acceptor acceptor)
    : state_(std::make_shared<State>(service, std::move(acceptor))) {}

StatusPage::~StatusPage() = default;

void StatusPage::start() {
  if (state_->waits.use_count() == 1 && state_->acceptor.is_open()) state_->accept();
}

void StatusPage::stop() {
  error_code ignored;
  state_->acceptor.close(ignored);
  state_->pause.cancel();
}

}  // namespace weir::server
