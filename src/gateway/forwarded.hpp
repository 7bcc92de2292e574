// Who the client is, where proxies stand between it and us.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "gateway/address.hpp"

namespace weir::gateway {

/// Where the client's address comes from.
enum class ClientFrom : std::uint8_t {
  peer,             ///< the connection
  x_forwarded_for,  ///< X-Forwarded-For
  forwarded,        ///< RFC 7239's Forwarded
};

/// What a request says of its way here.
struct Way {
  Address peer{};                             ///< who the connection is from
  std::span<const std::string_view> lines{};  ///< values of the header meant, a line each, in order
};

/// No more hops are looked at, so that a header of commas costs little.
inline constexpr std::size_t most_hops = 64;

/// The client of a request that came by a `trusted` peer: each hop that is trusted vouches for the
/// one named to its left, so the client is the first from the right that is not trusted. Where all
/// are trusted it is the leftmost of them, or the leftmost of the last most_hops.
///
/// Anyone can write anything to the left of what a trusted proxy appended. So where a hop is no
/// address (`unknown`, `_hidden`, nothing at all), the client is the trusted hop to its right,
/// never what stands to its left. A peer that is not trusted is the client, whatever it says.
///
/// A hop may have a port, brackets, quotes and a zone (fe80::1%eth0); they are dropped. What has
/// several colons and no brackets is all address. Of Forwarded the parameter `for` counts, and an
/// element without it is no address.
///
/// Threads  any
/// Cost     one pass over the hops looked at, from the right; no allocation
/// Errors   none
Address client_of(ClientFrom from, const Way& way, const NetworkSet& trusted) noexcept;

}  // namespace weir::gateway
