// gRPC's reflection: tools ask which services there are, and for the text of their messages.
#pragma once

#include "server/grpc/services.hpp"

namespace weir::server::grpc {

/// Adds grpc.reflection.v1.ServerReflection and its elder v1alpha to what clients may call. They
/// tell of all that `services` has when they are asked. Requires that it stays where it is.
void serve_reflection_by(Services& services);

}  // namespace weir::server::grpc
