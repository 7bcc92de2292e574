// What a Redis said, as limiters ask for it.
#pragma once

#include "weir/redis/store.hpp"
#include "wire/resp_reader.hpp"

namespace weir::redis {

/// Of a call that was answered. What a StoreReply cannot hold becomes an error that says so.
StoreReply to_store_reply(wire::Reply&& reply);

}  // namespace weir::redis
