// All of weir that protects from overload inside one process: limits on what is in flight, circuit
// breakers, gates that look at the machine, and chains of them and of rate limits.
#pragma once

#include "weir/local/accept_ratio.hpp"
#include "weir/local/adaptive.hpp"
#include "weir/local/chain.hpp"
#include "weir/local/circuit_breaker.hpp"
#include "weir/local/concurrency.hpp"
#include "weir/local/hot_values.hpp"
#include "weir/local/keeping.hpp"
#include "weir/local/leased_concurrency.hpp"
#include "weir/local/load_gate.hpp"
#include "weir/local/of_key.hpp"
#include "weir/local/partitioned_concurrency.hpp"
