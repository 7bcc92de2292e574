// All of weir for rate limits inside one process. What protects from overload besides is in
// weir/overload_protection.hpp; Asio's completion tokens are in weir/local/asio.hpp and
// asio_concurrency.hpp, since they need Asio.
#pragma once

#include "weir/algorithm/pacer.hpp"
#include "weir/algorithm/warm_up.hpp"
#include "weir/duration.hpp"
#include "weir/limit.hpp"
#include "weir/local/clock.hpp"
#include "weir/local/clocks.hpp"
#include "weir/local/keyed_limiter.hpp"
#include "weir/local/keyed_token_bucket.hpp"
#include "weir/local/lease.hpp"
#include "weir/local/limiter.hpp"
#include "weir/local/table.hpp"
