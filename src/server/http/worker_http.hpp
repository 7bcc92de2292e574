// HTTP as one worker speaks it.
#pragma once

#include "server/control.hpp"
#include "server/http/http_context.hpp"
#include "server/http/http_dialogue.hpp"
#include "server/worker.hpp"

namespace weir::server {

/// The routes of a worker's connections, and what their handlers ask with.
class WorkerHttp {
 public:
  struct Of {
    const HttpLimits& limits;
    Control& control;
  };
  /// All outlive it; it outlives the worker's connections.
  WorkerHttp(Worker& worker, const Of& of);
  WorkerHttp(const WorkerHttp&) = delete;
  WorkerHttp& operator=(const WorkerHttp&) = delete;

  /// For who adds paths, before there are connections.
  Router& router() noexcept { return front_.router; }

  /// What the worker makes its HTTP connections with.
  DialogueMaker maker();

 private:
  HttpContext context_;
  HttpFront front_;
};

}  // namespace weir::server
