#include "server/http/worker_http.hpp"

#include <memory>
#include <utility>

#include "server/http/admin_api.hpp"
#include "server/http/gate_api.hpp"
#include "server/http/limit_api.hpp"
#include "server/http/status_answers.hpp"

namespace weir::server {

WorkerHttp::WorkerHttp(Worker& worker, const Of& of)
    : context_{{worker.context(), worker.rules()}, worker},
      front_{.limits = of.limits,
             .metrics = context_.metrics,
             .log = context_.service.log,
             .read_clock = [this] { return context_.now = context_.service.clock.now(); }} {
  add_status(front_.router, context_.service);
  add_limit_api(front_.router, context_);
  add_gate_api(front_.router, worker.decider());
  add_admin_api(front_.router, {context_, worker.decider(), of.control});
}

DialogueMaker WorkerHttp::maker() {
  return [this](std::shared_ptr<Carrier> carrier) {
    return std::make_unique<HttpDialogue>(front_, std::move(carrier));
  };
}

}  // namespace weir::server
