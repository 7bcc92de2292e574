#include "server/http/gate_api.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gateway/forwarded.hpp"
#include "gateway/route.hpp"
#include "server/gateway/standing.hpp"
#include "server/http/asked_domain.hpp"
#include "server/http/query.hpp"
#include "server/rate_policy.hpp"
#include "wire/json.hpp"

namespace weir::server {
namespace {

using gateway::Call;
using gateway::Clients;

constexpr std::string_view quota_exceeded =
    "https://iana.org/assignments/http-problem-types#quota-exceeded";
constexpr std::string_view reduced_capacity =
    "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";

/// What stands behind /v1/forward?
struct Asked {
  std::string domain{};
  /// Absent, a refusal is a 429, or a 503 where nobody could count. nginx hands on 401 and 403
  /// alone; Envoy takes a 5xx for an answer that did not come.
  std::optional<int> refusal{};
};

Expected<Asked, QueryError> read_asked(std::string_view query) {
  const auto members = read_query(query);
  if (!members) return members.error();
  Asked asked;
  for (const auto& [name, value] : *members) {
    if (name == "domain") {
      asked.domain = value;
    } else if (name == "deny" && (value == "403" || value == "429")) {
      asked.refusal = value == "403" ? 403 : 429;
    } else {
      std::string message = "'";
      message.append(name).append("=").append(value).append("'; ");
      return QueryError{message + "expected domain=NAME, deny=403 or deny=429"};
    }
  }
  return asked;
}

/// The request that a proxy has before it, as its fields tell it.
class Forwarded {
 public:
  Forwarded(const HttpRequest& request, const Clients& clients)
      : request_(request), clients_(clients) {}

  /// What is wrong with it; empty where nothing is.
  std::string read() {
    const std::optional<gateway::Address> peer = peer_of(request_.peer);
    if (!peer || !clients_.trusted.contains(*peer)) {
      return std::string(request_.peer) + " is not among the trusted_proxies of this domain";
    }
    read_client(*peer);
    return read_request();
  }

  Call call() const {
    return {.method = method_,
            .host = host_,
            .uri = uri_,
            .user = user_,
            .ip = ip_,
            .headers = request_.fields};
  }

 private:
  /// Of 1.2.3.4:567, [::1]:567, [fe80::1%eth0]:567. Who comes by a Unix socket is of this machine.
  static std::optional<gateway::Address> peer_of(std::string_view peer) {
    if (peer.starts_with("unix:")) return gateway::Address::v4({127, 0, 0, 1});
    std::string_view host = peer.substr(0, peer.rfind(':'));
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    const auto address = gateway::parse_address(host.substr(0, host.find('%')));
    return address ? std::optional(*address) : std::nullopt;
  }

  void read_client(const gateway::Address& peer) {
    const std::string_view name =
        clients_.ip_from == gateway::ClientFrom::forwarded ? "forwarded" : "x-forwarded-for";
    std::vector<std::string_view> lines;
    for (const gateway::Header& header : request_.fields) {
      if (header.name == name) lines.push_back(header.value);
    }
    ip_ = gateway::client_of(clients_.ip_from, {peer, lines}, clients_.trusted);
  }

  std::string read_request() {
    if (std::string wrong = read_one("x-forwarded-method", method_); !wrong.empty()) return wrong;
    if (std::string wrong = read_one("x-forwarded-uri", uri_); !wrong.empty()) return wrong;
    if (std::string wrong = read_one("x-forwarded-host", host_); !wrong.empty()) return wrong;
    if (host_) host_ = gateway::host_of(*host_, lower_host_);
    if (uri_) {
      route_ = gateway::route_of(*uri_);
      uri_ = route_;
    }
    if (clients_.user_header.empty()) return {};
    return read_one(clients_.user_header, user_);
  }

  /// Twice is an error: a client may have sent the one that its proxy was to write.
  std::string read_one(std::string_view name, std::optional<std::string_view>& value) {
    for (const gateway::Header& header : request_.fields) {
      if (header.name != name) continue;
      if (value) return "two fields " + std::string(name) + "; expected that of the proxy alone";
      value = header.value;
    }
    return {};
  }

  const HttpRequest& request_;
  const Clients& clients_;
  std::optional<std::string_view> method_;
  std::optional<std::string_view> uri_;
  std::string route_;  ///< what uri_ is of, in one spelling
  std::optional<std::string_view> host_;
  std::string lower_host_;
  std::optional<std::string_view> user_;
  std::optional<gateway::Address> ip_;
};

/// application/problem+json of the quota that was exceeded, or of a store that nobody reaches.
std::string problem_of(const GateAnswer& answer, int status) {
  const Judged& binding = answer.judged[*answer.binding];
  const bool unavailable = binding.source == redis::Source::closed;
  wire::Json violated = wire::Json::array();
  for (const Judged& judged : answer.judged) {
    if (judged.refuses && !judged.rule->shadow) violated.element(judged.rule->label);
  }
  wire::Json body = wire::Json::object();
  body.member("type", unavailable ? reduced_capacity : quota_exceeded);
  body.member("title", unavailable ? "Limits cannot be counted now" : "Too many requests");
  body.member("status", std::int64_t{status});
  body.member("violated-policies", violated);
  return body.text();
}

HttpAnswer answer_of(const GateAnswer& answer, const Asked& asked, http::RateDialect dialect) {
  HttpAnswer http;
  http.fields = "Cache-Control: no-store\r\n" + generation_line(*answer.generation) +
                rate_lines(dialect, standing_of(answer).shown());
  if (answer.allowed) return http;
  const bool unavailable =
      answer.binding && answer.judged[*answer.binding].source == redis::Source::closed;
  // The problem tells what the client is to read: a proxy makes a 429 of the 403 that it asked for.
  const int status = unavailable && !asked.refusal ? 503 : 429;
  http.status = asked.refusal.value_or(status);
  http.content_type = "application/problem+json";
  http.body = problem_of(answer, status);
  return http;
}

void forward(Decider& decider, const HttpRequest& request, HttpReply& reply) {
  const auto asked = read_asked(request.query);
  if (!asked) return reply.send(problem(400, "query: " + asked.error().message));
  const auto found = asked_domain(decider, asked->domain);
  if (!found) return reply.send(found.error());
  const gateway::RuleIndex* const rules = *found;
  Forwarded forwarded(request, rules->domain().clients);
  if (std::string wrong = forwarded.read(); !wrong.empty()) {
    return reply.send(problem(400, std::move(wrong)));
  }
  const std::array<Call, 1> calls{forwarded.call()};
  constexpr std::array<Cost, 1> once{1};
  const auto owed = std::make_shared<OwedAnswer>();
  decider.decide({.rules = rules, .calls = calls, .hits = once, .patience = gateway::longest_hold},
                 [owed, asked = *asked, dialect = rules->domain().dialect](GateAnswer&& answer) {
                   owed->send(answer_of(answer, asked, dialect));
                 });
  owed->send_or_keep_place(reply);
}

}  // namespace

void add_gate_api(Router& router, Decider& decider) {
  // Envoy asks by the method of the request that it has before it.
  router.add({any_method, "/v1/forward"}, [&decider](const HttpRequest& request, HttpReply& reply) {
    forward(decider, request, reply);
  });
}

}  // namespace weir::server
