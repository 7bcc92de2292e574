// Which Redis is meant, as one text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "redis/node.hpp"
#include "weir/vocabulary.hpp"

namespace weir::redis {

/// A store, and how it knows us.
///
///   url     = scheme "://" [who "@"] place [ "?" option { "&" option } ]
///   scheme  = redis | rediss | unix | redis+sentinel | rediss+sentinel | redis+cluster |
///             rediss+cluster                          (rediss: by TLS)
///   who     = [user] ":" password | user              (a user alone: the password is in a file)
///   place   = node [ "/" [db] ]                       redis
///           | PATH                                    unix: begins with "/"
///           | node { "," node } "/" master [ "/" db ] sentinel: the nodes are the sentinels
///           | node { "," node } [ "/" ]               cluster
///   node    = host [ ":" port ]                       6379; of sentinels 26379
///   option  = db=N | password-file=PATH
///
/// %XX stands for a byte in user, password, PATH, master and the values of options.
struct Url {
  enum class Kind : std::uint8_t { single, unix_socket, sentinel, cluster };
  enum class Transport : std::uint8_t { plain, tls };

  static constexpr std::size_t longest_text = 4096;
  static constexpr std::size_t most_nodes = 64;

  Kind kind = Kind::single;
  Transport transport = Transport::plain;
  std::vector<Node> nodes{};    ///< one where single, none of a Unix socket
  std::string path{};           ///< of a Unix socket, at most 107 bytes
  std::string master{};         ///< the name that sentinels have for it
  std::string user{};           ///< empty: `default`
  std::string password{};       ///< empty: none, or in the file
  std::string password_file{};  ///< better than a password that stands in a list of processes
  std::int32_t db = 0;

  bool operator==(const Url&) const = default;
};

/// Where and why a text is no such URL. The message repeats nothing of the text: it may be secret.
struct UrlError {
  std::size_t column;   ///< of the text, from 1
  std::string message;  ///< what was expected there

  bool operator==(const UrlError&) const = default;
};

Expected<Url, UrlError> parse_url(std::string_view text);

/// The canonical text, with `***` for the password: fit for a log.
std::string print(const Url& url);

}  // namespace weir::redis
