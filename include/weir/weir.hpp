// All of weir for limits inside one process. Asio's completion tokens are apart, in
// weir/local/asio.hpp, since they need Asio.
#pragma once

#include "weir/algorithm/pacer.hpp"
#include "weir/algorithm/warm_up.hpp"
#include "weir/duration.hpp"
#include "weir/limit.hpp"
#include "weir/local/accept_ratio.hpp"
#include "weir/local/chain.hpp"
#include "weir/local/circuit_breaker.hpp"
#include "weir/local/clock.hpp"
#include "weir/local/clocks.hpp"
#include "weir/local/concurrency.hpp"
#include "weir/local/keeping.hpp"
#include "weir/local/keyed_limiter.hpp"
#include "weir/local/keyed_token_bucket.hpp"
#include "weir/local/lease.hpp"
#include "weir/local/leased_concurrency.hpp"
#include "weir/local/limiter.hpp"
#include "weir/local/load_gate.hpp"
#include "weir/local/of_key.hpp"
#include "weir/local/partitioned_concurrency.hpp"
#include "weir/local/table.hpp"
