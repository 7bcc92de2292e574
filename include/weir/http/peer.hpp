// The address in a peer's name, as gRPC writes it.
#pragma once

#include <string>
#include <string_view>

namespace weir::http {

/// Of "ipv4:192.0.2.1:5000" the address, and of "ipv6:[2001:db8::1]:5000", whose brackets some
/// releases escape; else all of it ("unix:/run/forum").
std::string ip_of_peer(std::string_view peer);

}  // namespace weir::http
