// Carries dialogues over sockets of this machine: no more than a test or a benchmark needs.
#pragma once

#include <cstdint>

#include "server/dialogue.hpp"

namespace weir::test {

/// Listens on 127.0.0.1 and serves one connection after the other's bytes on one thread. Prints
/// `grpc 127.0.0.1:PORT` once it listens. SIGTERM drains; it returns when all connections are gone.
/// Port 0: a free one.
void serve_dialogues(std::uint16_t port, const server::DialogueMaker& make);

}  // namespace weir::test
