#include "weir/http/peer.hpp"

namespace weir::http {

std::string ip_of_peer(std::string_view peer) {
  if (!peer.starts_with("ipv4:") && !peer.starts_with("ipv6:")) return std::string(peer);
  std::string_view address = peer.substr(5);
  if (const std::size_t port = address.rfind(':'); port != std::string_view::npos) {
    address = address.substr(0, port);
  }
  for (const std::string_view bracket : {"[", "%5B", "%5b"}) {
    if (address.starts_with(bracket)) address.remove_prefix(bracket.size());
  }
  for (const std::string_view bracket : {"]", "%5D", "%5d"}) {
    if (address.ends_with(bracket)) address.remove_suffix(bracket.size());
  }
  return std::string(address);
}

}  // namespace weir::http
