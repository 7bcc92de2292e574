// A moment in which no worker does anything.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "server/worker.hpp"

namespace weir::server {

/// Has the action run while these workers do nothing. Requires that they run, and a thread that is
/// none of theirs.
void while_parked(std::span<const std::unique_ptr<Worker>> workers,
                  const std::function<void()>& action);

}  // namespace weir::server
