// What proxies and operators ask over HTTP, of a server of its own.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "server/gateway/json_api.hpp"
#include "server/gateway/rate_limits.hpp"
#include "server/gateway/rule_keeper.hpp"
#include "server/grpc/rate_limit_service.hpp"
#include "server/http/admin_api.hpp"
#include "server/http/gate_api.hpp"
#include "test/server/http/api_front.hpp"

namespace weir::test {

/// A control loop that changes nothing, at once.
class IdleControl final : public server::Control {
 public:
  void reload(std::function<void(server::ReloadReport&&)> then) override { then({}); }
  void override_key(server::OverrideWish,
                    std::function<void(server::OverrideReport&&)> then) override {
    then({.overrides = 1});
  }
  void list_overrides(std::function<void(std::vector<server::LaidOverride>&&)> then) override {
    then({});
  }
};

/// One generation of rules for as many servers as a test has.
struct LoadedRules {
  explicit LoadedRules(server::RuleOptions options) : keeper(rules, std::move(options)) {
    keeper.put_in_force(generation = keeper.load().value(), Instant());
  }

  Rules rules{};
  server::RuleKeeper keeper;
  std::shared_ptr<const server::Generation> generation;
};

/// Answers /v1/forward, /json and /v1/admin/, for who shows the token "t".
struct RulesFront {
  explicit RulesFront(LoadedRules& loaded)
      : service(loaded.rules, {}, {.level = server::LogLevel::off}), cache(loaded.rules) {
    service.admin_token.set("t");
    decider.renew(loaded.generation, loaded.keeper.identities());
    serve_rate_limits_by(services, limits);
    server::add_gate_api(front.router, decider);
    server::add_json_api(front.router, services, decider);
    server::add_admin_api(front.router, {context, decider, control});
  }

  Instant now{Span{1'795'163'520'000'000}};
  server::Service service;
  server::RuleCache cache;
  HeldThread thread{};
  IdleControl control{};
  server::HttpContext context{
      {{service, service.metrics.add_worker(), service.hot_keys.add_worker(now)}, cache}, thread};
  boost::asio::io_context loop{};
  server::Decider decider{context, loop};
  server::RateLimits limits{decider};
  server::grpc::Services services{};
  server::HttpLimits http_limits{};
  server::HttpFront front{
      .limits = http_limits, .metrics = context.metrics, .log = service.log, .read_clock = [this] {
        return context.now = now;
      }};
};

}  // namespace weir::test
