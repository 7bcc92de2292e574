// How many files the process may have open.
#pragma once

#include <cstddef>

#include "server/log.hpp"

namespace weir::server {

/// Allows as many open files as clients may need; how many clients there is room for.
std::size_t make_room_for(std::size_t clients, Log& log);

}  // namespace weir::server
