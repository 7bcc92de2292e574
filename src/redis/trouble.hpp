// What is wrong with a store's reply.
#pragma once

#include "weir/redis/store.hpp"
#include "weir/redis/trouble.hpp"

namespace weir::redis {

/// What is wrong with how a call ended; nothing where it was answered, and by no error.
Trouble trouble_of(const StoreReply& reply);

}  // namespace weir::redis
