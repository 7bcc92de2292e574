// Why a server cannot start.
#pragma once

#include <string>

namespace weir::server {

/// A sentence that says what to do.
struct StartError {
  std::string message;
};

}  // namespace weir::server
