// IP addresses and networks: what a client is called by, and whom an operator means.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weir/vocabulary.hpp"

namespace weir::gateway {

/// An IPv4 or IPv6 address. One of IPv4 is kept as IPv6 maps it, ::ffff:a.b.c.d, so both spellings
/// are one address. The default value is IPv6's "any", ::.
struct Address {
  std::array<std::uint8_t, 16> bytes{};  ///< in the order of the network

  static constexpr Address v4(std::array<std::uint8_t, 4> octets) noexcept {
    return {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, octets[0], octets[1], octets[2], octets[3]}};
  }

  constexpr bool is_v4() const noexcept {
    for (std::size_t i = 0; i < 10; ++i) {
      if (bytes[i] != 0) return false;
    }
    return bytes[10] == 0xff && bytes[11] == 0xff;
  }

  auto operator<=>(const Address&) const = default;
};

/// Where a text stops being an address, and what was expected there. Made without allocation, since
/// a client's headers may hold anything.
struct AddressError {
  std::size_t column;         ///< of the text, from 1
  std::string_view expected;  ///< "a number from 0 to 255"
};

/// Reads all of `text`: four decimal numbers, or RFC 4291's groups of hexadecimal digits. No
/// leading zeros in decimals, which some read as octal; no blanks, brackets, port or zone.
Expected<Address, AddressError> parse_address(std::string_view text) noexcept;

/// The canonical text: RFC 5952's for IPv6.
std::string print(const Address& address);

/// The addresses that begin with the same bits. A network is of one family: ::/0 holds no IPv4.
struct Network {
  Address first{};        ///< the bits behind the prefix are 0
  std::uint8_t bits = 0;  ///< 0 to 32 of IPv4, 0 to 128 of IPv6

  /// The network of so many bits that `address` lies in; more bits than it has mean all.
  static Network around(const Address& address, std::uint8_t bits) noexcept;

  Address last() const noexcept;
  bool contains(const Address& address) const noexcept;

  bool operator==(const Network&) const = default;
};

struct NetworkError {
  std::size_t column;   ///< of the text, from 1
  std::string message;  ///< what was expected there
};

/// "10.0.0.0/8", "2001:db8::/32", or an address alone, which is a network of one. Bits set behind
/// the prefix are an error that names the network meant: 10.1.2.3/8 may be a slip of either number.
/// ::ffff:10.0.0.0/104 is 10.0.0.0/8.
Expected<Network, NetworkError> parse_network(std::string_view text);

/// The text that reads to the same network; one of a single address is printed as that.
std::string print(const Network& network);

/// How much of an address tells clients apart. Whoever has one IPv6 address mostly has all of its
/// /64.
struct Grouping {
  std::uint8_t v4_bits = 32;
  std::uint8_t v6_bits = 64;
};

/// The network that stands for a client, fit for a key: "1.2.3.4", "2001:db8:1:2::/64".
Network grouped(const Address& address, const Grouping& grouping) noexcept;

/// Many networks, asked for one address at a time.
///
/// Threads  any, as it never changes
/// Cost     n log n to make; log n to ask
/// Memory   32 bytes a network that lies in no other
class NetworkSet {
 public:
  NetworkSet() = default;
  explicit NetworkSet(const std::vector<Network>& networks);

  bool contains(const Address& address) const noexcept;

 private:
  struct Range {
    Address first;
    Address last;
  };
  using Ranges = std::vector<Range>;  // sorted, none in another

  static Ranges outermost(Ranges ranges);

  // Apart, for the addresses of IPv4 lie amid those of ::/0.
  Ranges v4_;
  Ranges v6_;
};

}  // namespace weir::gateway
