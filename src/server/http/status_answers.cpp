#include "server/http/status_answers.hpp"

#include <string>

namespace weir::server {
namespace {

/// /readyz, and with ?verbose each thing that it depends on, and what needs somebody's hand.
HttpAnswer readiness(const Service& service, bool verbose) {
  const bool has_store = !service.needs_store || service.store_health.answers();
  const bool ready = !service.draining && has_store;
  if (!verbose) {
    if (ready) return plain_text(200, "ok");
    return plain_text(503, service.draining ? "draining" : "the store does not answer");
  }
  std::string lines;
  const auto tell = [&lines](bool good, const std::string& what) {
    lines += (good ? "[+] " : "[-] ") + what + "\n";
  };
  tell(!service.draining, service.draining ? "draining" : "serving");
  if (service.store) {
    const bool answers = service.store_health.answers();
    tell(answers || !service.needs_store,
         answers               ? "store answers"
         : service.needs_store ? "store does not answer"
                               : "store does not answer; the policy decides without it");
  }
  for (std::size_t at = 0; at < service.outdated.size(); ++at) {
    if (!service.outdated[at]) continue;
    const std::string what = name(static_cast<Reloaded>(at));
    tell(false, what + ": the last file was no good, what was before counts; the log says why");
  }
  return plain_text(ready ? 200 : 503, lines + (ready ? "ready" : "not ready"));
}

}  // namespace

std::optional<HttpAnswer> status_answer(const Service& service, StatusPath asked) {
  HttpAnswer answer;
  if (asked.path == "/metrics") {
    answer.content_type = "text/plain; version=0.0.4; charset=utf-8";
    answer.body = service.metrics.text(service.table.stats());
  } else if (asked.path == "/livez") {
    answer = plain_text(200, "ok");
  } else if (asked.path == "/readyz") {
    answer = readiness(service, asked.query == "verbose");
  } else {
    return {};
  }
  answer.fields = "Cache-Control: no-store\r\n";
  return answer;
}

void add_status(Router& router, const Service& service) {
  for (const char* path : {"/livez", "/readyz", "/metrics"}) {
    router.add({"GET", path}, [&service](const HttpRequest& request, HttpReply& reply) {
      reply.send(*status_answer(service, {request.path, request.query}));
    });
  }
}

}  // namespace weir::server
