// How many connections come from where.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "server/service.hpp"

namespace weir::server {

/// Counts open connections by client address. Of an IPv6 address its /64 network counts, for who
/// has one address of it has them all.
///
/// Threads  any
/// Cost     a lock when a connection comes and goes; memory for each address that has one
class ClientAddresses {
 public:
  /// One connection's place in the count, given back by its end.
  class Seat {
   public:
    Seat() = default;
    Seat(ClientAddresses* owner, std::string network)
        : owner_(owner), network_(std::move(network)) {}
    Seat(Seat&& other) noexcept
        : owner_(std::exchange(other.owner_, nullptr)), network_(std::move(other.network_)) {}
    Seat& operator=(Seat&& other) noexcept {
      std::swap(owner_, other.owner_);
      std::swap(network_, other.network_);
      return *this;
    }
    ~Seat() {
      if (owner_) owner_->leave(network_);
    }

   private:
    ClientAddresses* owner_ = nullptr;
    std::string network_;
  };

  /// Counts one more, unless there are `most` already.
  std::optional<Seat> admit(const boost::asio::ip::address& address, std::size_t most);

 private:
  void leave(const std::string& network);

  std::mutex mutex_;
  std::unordered_map<std::string, std::size_t, TextHash, std::equal_to<>> open_;
};

}  // namespace weir::server
