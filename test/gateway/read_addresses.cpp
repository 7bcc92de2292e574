// Reads a text a line: prints the canonical network that it is, or "-" where it is none. A line of
// an address alone is read as one.
#include <iostream>
#include <string>

#include "gateway/address.hpp"

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    if (line.find('/') == line.npos) {
      const auto address = weir::gateway::parse_address(line);
      std::cout << (address ? print(*address) : "-") << '\n';
    } else {
      const auto network = weir::gateway::parse_network(line);
      std::cout << (network ? print(*network) : "-") << '\n';
    }
  }
}
