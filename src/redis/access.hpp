// Which Redis, and all that is needed to be let in: read once, for any number of clients.
#pragma once

#include <string>
#include <string_view>

#include "redis/tls.hpp"
#include "redis/url.hpp"
#include "weir/redis/client.hpp"
#include "weir/vocabulary.hpp"

namespace weir::redis {

struct Access {
  Url url;
  Client::Settings settings;
  std::string password{};  ///< the URL's, or what its file holds
  TlsContext tls{};        ///< null: plain
};

/// Reads the URL and the files that it and the settings name.
Expected<Access, ClientError> read_access(std::string_view url, const Client::Settings& settings);

}  // namespace weir::redis
