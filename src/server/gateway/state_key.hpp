// The keys of states, of whatever length a call's values are.
#pragma once

#include <cstddef>
#include <string>

namespace weir::server {

/// The key, or of one above `most` bytes its beginning and its SHA-256: a client's long values
/// count like any others, and fill no memory. No other key looks like it: "%~" stands in none.
std::string bounded_key(std::string&& key, std::size_t most);

}  // namespace weir::server
