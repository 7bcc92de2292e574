// What an answer of RateLimitService tells Envoy's other filters.
#pragma once

#include <google/protobuf/struct.pb.h>

#include <memory>

#include "server/gateway/decider.hpp"
#include "server/grpc/rate_limit_ask.hpp"

namespace weir::server {

/// What was asked, as envoyproxy/ratelimit tells it: `domain`, `descriptors` (each with `entries`
/// as "key=value", and `limit` and `hitsAddend` where it brings its own), `hitsAddend` above 1.
std::shared_ptr<google::protobuf::Struct> metadata_of(const grpc::RateLimitAsk& ask);

/// Adds as `metadata` what is said of the rules that let their descriptors through. Where several
/// say the same field, the first counts; maps become one.
void add_metadata(const GateAnswer& answer, google::protobuf::Struct& told);

}  // namespace weir::server
