#include "redis/url.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "wire/integer.hpp"

namespace weir::redis {
namespace {

constexpr std::size_t longest_path = 107;  // of a Unix socket: sun_path, less a NUL

struct Scheme {
  std::string_view text;
  Url::Kind kind;
  Url::Transport transport;
};

constexpr Scheme schemes[] = {
    {"redis://", Url::Kind::single, Url::Transport::plain},
    {"rediss://", Url::Kind::single, Url::Transport::tls},
    {"unix://", Url::Kind::unix_socket, Url::Transport::plain},
    {"redis+sentinel://", Url::Kind::sentinel, Url::Transport::plain},
    {"rediss+sentinel://", Url::Kind::sentinel, Url::Transport::tls},
    {"redis+cluster://", Url::Kind::cluster, Url::Transport::plain},
    {"rediss+cluster://", Url::Kind::cluster, Url::Transport::tls},
};

std::uint16_t default_port(Url::Kind kind) { return kind == Url::Kind::sentinel ? 26379 : 6379; }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// All but letters, digits, a few marks that need no escape anywhere, and `plain`.
void append_escaped(std::string& out, std::string_view text, char plain = '~') {
  constexpr char digits[] = "0123456789ABCDEF";
  for (const char c : text) {
    const bool word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                      c == '-' || c == '_' || c == '.' || c == '~';
    if (word || c == plain) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
}

/// Reads one text. A part of it that has been cut off knows its column by where it lies.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Expected<Url, UrlError> parse() {
    if (read()) return std::move(url_);
    return std::move(*error_);
  }

 private:
  bool refuse(std::string_view where, const char* expected) {
    error_ = UrlError{static_cast<std::size_t>(where.data() - text_.data()) + 1, expected};
    return false;
  }

  bool read() {
    if (text_.size() > Url::longest_text) {
      return refuse(text_.substr(Url::longest_text), "expected a URL of at most 4096 bytes");
    }
    const auto* const scheme = std::ranges::find_if(
        schemes, [this](const Scheme& known) { return text_.starts_with(known.text); });
    if (scheme == std::end(schemes)) {
      return refuse(text_,
                    "expected redis://, rediss://, unix://, redis+sentinel:// or "
                    "redis+cluster://");
    }
    url_.kind = scheme->kind;
    url_.transport = scheme->transport;
    std::string_view place = text_.substr(scheme->text.size());
    std::string_view options = place.substr(std::min(place.find('?'), place.size()));
    place.remove_suffix(options.size());
    if (!read_who(place) || !read_place(place)) return false;
    if (!options.empty() && !read_options(options.substr(1))) return false;
    return agrees();
  }

  bool read_who(std::string_view& place) {
    // A path may have an '@' of its own; what stands before the first '/' may not.
    const std::string_view authority = place.substr(0, place.find('/'));
    const std::size_t at = authority.rfind('@');
    if (at == std::string_view::npos) return true;
    const std::string_view who = place.substr(0, at);
    who_end_ = place.substr(at);
    place.remove_prefix(at + 1);
    const std::size_t colon = who.find(':');
    if (!unescape(who.substr(0, colon), url_.user)) return false;
    if (colon == std::string_view::npos) {
      if (who.empty()) return refuse(who, "expected USER:PASSWORD before '@'");
      return true;
    }
    const std::string_view password = who.substr(colon + 1);
    if (password.empty()) return refuse(password, "expected a password between ':' and '@'");
    return unescape(password, url_.password);
  }

  bool read_place(std::string_view place) {
    if (url_.kind == Url::Kind::unix_socket) return read_path(place);
    const std::string_view nodes = place.substr(0, place.find('/'));
    if (!read_nodes(nodes)) return false;
    std::string_view rest = place.substr(nodes.size());
    if (url_.kind == Url::Kind::sentinel) {
      if (rest.empty()) return refuse(rest, "expected '/' and the master's name");
      const std::string_view master = rest.substr(1, rest.find('/', 1) - 1);
      if (master.empty()) return refuse(master, "expected the master's name");
      if (!unescape(master, url_.master)) return false;
      rest.remove_prefix(1 + master.size());
    }
    if (rest.size() <= 1) return true;
    if (url_.kind == Url::Kind::cluster) {
      return refuse(rest.substr(1), "expected no database: a cluster has one alone");
    }
    return read_db(rest.substr(1));
  }

  bool read_path(std::string_view place) {
    if (!place.starts_with('/')) return refuse(place, "expected a path that begins with '/'");
    if (!unescape(place, url_.path)) return false;
    if (url_.path.size() <= longest_path) return true;
    return refuse(place, "expected a path of at most 107 bytes");
  }

  bool read_nodes(std::string_view nodes) {
    while (true) {
      const std::string_view node = nodes.substr(0, nodes.find(','));
      if (!read_node(node)) return false;
      nodes.remove_prefix(node.size());
      if (nodes.empty()) return true;
      if (url_.kind == Url::Kind::single) {
        return refuse(nodes,
                      "expected one server; several are redis+cluster:// or "
                      "redis+sentinel://");
      }
      nodes.remove_prefix(1);
      if (url_.nodes.size() == Url::most_nodes) return refuse(nodes, "expected at most 64 servers");
    }
  }

  bool read_node(std::string_view text) {
    std::string_view host = text.substr(0, text.find(':'));
    if (text.starts_with('[')) {
      const std::size_t end = text.find(']');
      if (end == std::string_view::npos) return refuse(text, "expected ']' behind the address");
      host = text.substr(1, end - 1);
      text.remove_prefix(end + 1);
    } else {
      text.remove_prefix(host.size());
    }
    if (!is_host(host)) return refuse(host, "expected a host");
    Node node{std::string(host), default_port(url_.kind)};
    if (!text.empty()) {
      const auto port = text[0] == ':' ? read_port(text.substr(1)) : std::nullopt;
      if (!port) return refuse(text, "expected ':' and a port, 1 to 65535");
      node.port = *port;
    }
    url_.nodes.push_back(std::move(node));
    return true;
  }

  bool read_db(std::string_view digits) {
    if (db_was_read_) return refuse(digits, "expected one database");
    db_was_read_ = true;
    const auto db = wire::strict_integer(digits);
    if (!db || *db < 0 || *db > std::numeric_limits<std::int32_t>::max()) {
      return refuse(digits, "expected the number of a database, 0 to 2147483647");
    }
    url_.db = static_cast<std::int32_t>(*db);
    return true;
  }

  bool read_options(std::string_view options) {
    while (true) {
      const std::string_view option = options.substr(0, options.find('&'));
      if (!read_option(option)) return false;
      options.remove_prefix(option.size());
      if (options.empty()) return true;
      options.remove_prefix(1);
    }
  }

  bool read_option(std::string_view option) {
    const std::size_t equals = std::min(option.find('='), option.size());
    const std::string_view name = option.substr(0, equals);
    const std::string_view value = option.substr(std::min(equals + 1, option.size()));
    if (name == "db" && url_.kind == Url::Kind::cluster) {
      return refuse(option, "expected no database: a cluster has one alone");
    }
    if (name == "db") return read_db(value);
    if (name != "password-file") return refuse(option, "expected db= or password-file=");
    if (!url_.password.empty() || !url_.password_file.empty()) {
      return refuse(option, "expected one password, or one file that holds it");
    }
    if (value.empty()) return refuse(value, "expected the path of a file");
    return unescape(value, url_.password_file);
  }

  /// What can be told only at the end.
  bool agrees() {
    if (url_.user.empty() || !url_.password.empty() || !url_.password_file.empty()) return true;
    return refuse(who_end_, "expected ':' and a password, or password-file= at the end");
  }

  bool unescape(std::string_view text, std::string& out) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      char c = text[i];
      if (c == '%') {
        const int high = i + 1 < text.size() ? hex_digit(text[i + 1]) : -1;
        const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
        if (high < 0 || low < 0) return refuse(text.substr(i), "expected two digits behind '%'");
        c = static_cast<char>(high * 16 + low);
        if (c == '\0') return refuse(text.substr(i), "expected no NUL");
        i += 2;
      } else if (c <= ' ' || c > '~') {
        return refuse(text.substr(i), "expected a printable character; others are %XX");
      }
      out += c;
    }
    return true;
  }

  std::string_view text_;
  Url url_;
  std::optional<UrlError> error_;
  std::string_view who_end_;
  bool db_was_read_ = false;
};

}  // namespace

Expected<Url, UrlError> parse_url(std::string_view text) { return Parser(text).parse(); }

std::string print(const Url& url) {
  const auto* const scheme = std::ranges::find_if(schemes, [&url](const Scheme& known) {
    return known.kind == url.kind && known.transport == url.transport;
  });
  std::string out(scheme == std::end(schemes) ? "unix://" : scheme->text);
  append_escaped(out, url.user);
  if (!url.password.empty()) out += ":***";
  if (!url.user.empty() || !url.password.empty()) out += '@';
  for (const Node& node : url.nodes) {
    if (out.back() != '/' && out.back() != '@') out += ',';
    out += print(node);
  }
  append_escaped(out, url.path, '/');
  if (!url.master.empty()) out += '/';
  append_escaped(out, url.master);
  const bool by_option = url.kind == Url::Kind::unix_socket;
  if (url.db != 0) out += (by_option ? "?db=" : "/") + std::to_string(url.db);
  if (!url.password_file.empty()) {
    out += out.find('?') == std::string::npos ? "?password-file=" : "&password-file=";
    append_escaped(out, url.password_file, '/');
  }
  return out;
}

}  // namespace weir::redis
