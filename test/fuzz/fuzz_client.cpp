// Any bytes as an address, as a network, and as what headers say of a request's way: an address
// prints to a text that is it, and whoever stands to the left of the client never becomes it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/forwarded.hpp"

namespace {

using weir::gateway::Address;
using weir::gateway::ClientFrom;
using weir::gateway::Network;
using weir::gateway::NetworkSet;

void require(bool holds, const char* what) {
  if (holds) return;
  std::cerr << "broken: " << what << '\n';
  std::abort();
}

void read_address(std::string_view text) {
  const auto address = weir::gateway::parse_address(text);
  if (!address) {
    require(address.error().column >= 1 && address.error().column <= text.size() + 1, "a column");
    require(!address.error().expected.empty(), "what was expected");
    return;
  }
  const std::string printed = print(*address);
  const auto again = weir::gateway::parse_address(printed);
  require(again && *again == *address, "the printed text is the same address");
  require(printed.size() <= 39, "no longer than eight groups");
}

void read_network(std::string_view text) {
  const auto network = weir::gateway::parse_network(text);
  if (!network) {
    const auto& [column, message] = network.error();
    require(column >= 1 && column <= text.size() + 1, "a column");
    require(
        std::all_of(message.begin(), message.end(), [](char c) { return c >= ' ' && c <= '~'; }),
        "one line of ASCII");
    return;
  }
  const auto again = weir::gateway::parse_network(print(*network));
  require(again && *again == *network, "the printed text is the same network");
  require(network->contains(network->first), "a network holds its first address");
  require(NetworkSet({*network}).contains(network->first), "and so does a set of it");
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (true) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == text.npos) return lines;
    text.remove_prefix(end + 1);
  }
}

void ask_for_the_client(std::string_view text) {
  static const Address proxy = Address::v4({10, 0, 0, 1});
  static const Address stranger = Address::v4({192, 0, 2, 7});
  static const NetworkSet trusted({Network::around(proxy, 8)});
  const auto client = [](ClientFrom from, const Address& peer,
                         const std::vector<std::string_view>& lines) {
    return client_of(from, {.peer = peer, .lines = lines}, trusted);
  };
  std::vector<std::string_view> lines = lines_of(text);
  for (const ClientFrom from : {ClientFrom::x_forwarded_for, ClientFrom::forwarded}) {
    require(client(from, stranger, lines) == stranger, "a stranger is the client itself");
    const std::string hops = from == ClientFrom::forwarded
                                 ? ", for=\"192.0.2.7:80\";host=\"a,\\\"b\" ,for=10.0.0.2"
                                 : ", 192.0.2.7 ,10.0.0.2";
    const std::string last = std::string(lines.back()) + hops;
    std::vector<std::string_view> longer = lines;
    longer.back() = last;
    require(client(from, proxy, longer) == stranger, "what stands to its left changes nothing");
    longer = lines;
    longer.push_back(hops);
    require(client(from, proxy, longer) == stranger, "nor do lines before");
    const Address found = client(from, proxy, lines);
    longer = lines;
    longer.insert(longer.begin(), "198.51.100.9");
    if (!trusted.contains(found)) {
      require(client(from, proxy, longer) == found, "a line before the client's changes nothing");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_address(text);
  read_network(text);
  ask_for_the_client(text);
  return 0;
}
