// A conversation with the Redis that a URL means.
#pragma once

#include <string>

#include "cli/remote.hpp"
#include "cli/store_health.hpp"
#include "weir/vocabulary.hpp"

namespace weir::cli {

struct StoreAddress {
  std::string url;     ///< as redis/url.hpp has them
  std::string tls_ca;  ///< whom to trust; empty: whom this machine trusts
};

/// Connects to the server itself, to the master that the first Sentinel that knows it names, or to
/// the first node of a cluster that answers.
Expected<AskedStore, RemoteError> reach_store(const StoreAddress& address);

}  // namespace weir::cli
