#include "server/client_addresses.hpp"

namespace weir::server {
namespace {

/// Four bytes of an IPv4 address, also one written as IPv6; eight of an IPv6 network.
std::string network_of(const boost::asio::ip::address& address) {
  if (address.is_v6() && !address.to_v6().is_v4_mapped()) {
    const auto bytes = address.to_v6().to_bytes();
    return {bytes.begin(), bytes.begin() + 8};
  }
  const auto v4 = address.is_v6() ? boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped,
                                                                     address.to_v6())
                                  : address.to_v4();
  const auto bytes = v4.to_bytes();
  return {bytes.begin(), bytes.end()};
}

}  // namespace

std::optional<ClientAddresses::Seat> ClientAddresses::admit(const boost::asio::ip::address& address,
                                                            std::size_t most) {
  std::string network = network_of(address);
  const std::lock_guard lock(mutex_);
  std::size_t& open = open_[network];
  if (open >= most) return {};
  ++open;
  return Seat(this, std::move(network));
}

void ClientAddresses::leave(const std::string& network) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(network);
  if (--found->second == 0) open_.erase(found);
}

}  // namespace weir::server
