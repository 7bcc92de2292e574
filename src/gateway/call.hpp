// What is known of a call that asks to be let through.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gateway/address.hpp"
#include "weir/vocabulary.hpp"

namespace weir::gateway {

/// A header field; its name in lower case.
struct Header {
  std::string_view name;
  std::string_view value;
};

/// One entry of a descriptor, as RateLimitService has them.
struct Entry {
  std::string_view key;
  std::string_view value;
};

struct Quota;

/// Whoever asks says what he knows: a proxy the HTTP request, RateLimitService one descriptor.
struct Call {
  std::optional<std::string_view> method{};
  std::optional<std::string_view> host{};
  std::optional<std::string_view> uri{};  ///< the path, without its query
  std::optional<std::string_view> user{};
  std::optional<Address> ip{};
  std::span<const Header> headers{};
  std::span<const Entry> descriptor{};
  const Quota* given = nullptr;  ///< a limit that the call brings along, in place of any rule's
};

/// Something that a call may say of itself: ip, user, uri, method, host, header.NAME,
/// descriptor.KEY.
struct Attribute {
  enum class Kind : std::uint8_t { ip, user, uri, method, host, header, descriptor };

  Kind kind = Kind::ip;
  std::string name{};  ///< of a header, in lower case, or of a descriptor's entry

  bool operator==(const Attribute&) const = default;
};

/// Errors: what was expected.
Expected<Attribute, std::string> read_attribute(std::string_view text);
std::string print(const Attribute& attribute);

/// What the call says of it; none where it says nothing. An address is printed into `scratch`:
/// an IPv6 one as the network of `prefix` bits that it lies in.
struct Printing {
  std::string& scratch;
  Grouping grouping{};
};
std::optional<std::string_view> value_of(const Attribute& attribute, const Call& call,
                                         const Printing& printing);

}  // namespace weir::gateway
