// A call of a handler, and what is answered in its place: no web library's words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weir/http/rate_fields.hpp"

namespace weir::http {

/// Who asks which handler for what. What is not known is empty.
struct Visit {
  std::string_view method{};  ///< GET
  std::string_view path{};    ///< what was asked for, without its query: /posts/7
  std::string_view route{};   ///< the handler, as the router names it: /posts/{id}; empty: the path
  std::string_view user{};    ///< who is logged in; empty: nobody
  std::string_view ip{};      ///< the client's address, not that of a proxy
};

/// A whole response.
struct Reply {
  unsigned status = 0;
  std::string content_type{};
  std::string body{};
  std::vector<Field> fields{};  ///< their names are views: let them be of literals
};

/// Why a handler is not run.
enum class Why : std::uint8_t {
  over_limit,
  not_logged_in,  ///< the handler is for users alone; nothing was counted
  unavailable,    ///< who counts is away, and wants nobody let in meanwhile
};

}  // namespace weir::http
