// The API of a server of its own, at a time of the test's choosing.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "server/http/limit_api.hpp"
#include "server/http/status_answers.hpp"
#include "test/server/http/http_client.hpp"

namespace weir::test {

/// Runs what others post when the test says so.
class HeldThread final : public server::WorkerThread {
 public:
  bool here() override { return is_here; }
  void post(std::function<void()> action) override { posted_.push_back(std::move(action)); }

  void run() {
    for (const auto& action : std::exchange(posted_, {})) action();
  }

  bool is_here = true;

 private:
  std::vector<std::function<void()>> posted_;
};

struct ApiFront {
  ApiFront() {
    server::add_limit_api(front.router, context);
    server::add_status(front.router, service);
  }

  Instant now{Span{1'795'163'520'000'000}};
  Rules rules{};
  bool named = rules.add({"login", "2/1m"}).has_value();
  server::Service service{rules, Table::Settings{}, {.level = server::LogLevel::off}};
  server::RuleCache cache{rules};
  HeldThread thread{};
  server::HttpContext context{
      {{service, service.metrics.add_worker(), service.hot_keys.add_worker(now)}, cache}, thread};
  server::HttpLimits limits{};
  server::HttpFront front{
      .limits = limits, .metrics = context.metrics, .log = service.log, .read_clock = [this] {
        return context.now = now;
      }};
};

}  // namespace weir::test
