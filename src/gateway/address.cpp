#include "gateway/address.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "limit/characters.hpp"

namespace weir::gateway {
namespace {

constexpr std::size_t most_groups = 8;
constexpr std::uint8_t mapped_bits = 96;  // in front of an IPv4 address

constexpr std::optional<unsigned> hexadecimal(char c) noexcept {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return {};
}

/// Reads an address from the left; where a step says no, error() tells why.
class Reader {
 public:
  explicit Reader(std::string_view text) noexcept : text_(text) {}

  bool v4() noexcept {
    std::array<std::uint8_t, 4> octets{};
    if (!dotted(octets)) return false;
    address_ = Address::v4(octets);
    return true;
  }

  bool v6() noexcept {
    if (text_.starts_with("::")) {
      gap_ = 0;
      at_ = 2;
    }
    while (!ended()) {
      if (!group() || !separator()) return false;
    }
    if (gap_ ? count_ == most_groups : count_ < most_groups) {
      return expect("eight groups, or '::' where some are zero");
    }
    put_groups();
    return true;
  }

  const Address& address() const noexcept { return address_; }
  const AddressError& error() const noexcept { return error_; }

 private:
  bool ended() const noexcept { return at_ == text_.size(); }

  bool expect(std::string_view what) noexcept {
    error_ = {at_ + 1, what};
    return false;
  }

  bool dotted(std::array<std::uint8_t, 4>& octets) noexcept {
    for (std::size_t i = 0; i < octets.size(); ++i) {
      if (i > 0) {
        if (ended() || text_[at_] != '.') return expect("'.' and four numbers in all");
        ++at_;
      }
      if (!octet(octets[i])) return false;
    }
    return ended() || expect("the end of the address");
  }

  bool octet(std::uint8_t& value) noexcept {
    if (ended() || !is_digit(text_[at_])) return expect("a number from 0 to 255");
    const bool zero = text_[at_] == '0';
    const char* end = text_.data() + text_.size();
    const auto [stop, fault] = std::from_chars(text_.data() + at_, end, value);
    const auto digits = static_cast<std::size_t>(stop - text_.data()) - at_;
    if (fault != std::errc{} || (zero && digits > 1)) {
      return expect("a number from 0 to 255, without leading zeros");
    }
    at_ += digits;
    return true;
  }

  /// One group, or the last two written as an IPv4 address.
  bool group() noexcept {
    if (text_.find(':', at_) == text_.npos && text_.find('.', at_) != text_.npos) {
      std::array<std::uint8_t, 4> octets{};
      if (count_ + 2 > most_groups) return expect("eight groups at most");
      if (!dotted(octets)) return false;
      groups_[count_++] = static_cast<std::uint16_t>(octets[0] << 8 | octets[1]);
      groups_[count_++] = static_cast<std::uint16_t>(octets[2] << 8 | octets[3]);
      return true;
    }
    if (count_ == most_groups) return expect("eight groups at most");
    const std::size_t start = at_;
    unsigned value = 0;
    while (!ended() && at_ - start < 4) {
      const auto digit = hexadecimal(text_[at_]);
      if (!digit) break;
      value = value * 16 + *digit;
      ++at_;
    }
    if (at_ == start) return expect("1 to 4 hexadecimal digits");
    groups_[count_++] = static_cast<std::uint16_t>(value);
    return true;
  }

  bool separator() noexcept {
    if (ended()) return true;
    if (text_[at_] != ':') return expect("':' or the end of the address");
    ++at_;
    if (ended()) return expect("1 to 4 hexadecimal digits");
    if (text_[at_] != ':') return true;
    if (gap_) return expect("1 to 4 hexadecimal digits, for '::' stands already");
    gap_ = count_;
    ++at_;
    return true;
  }

  void put_groups() noexcept {
    const std::size_t skipped = most_groups - count_;
    for (std::size_t i = 0; i < count_; ++i) {
      const std::size_t place = 2 * (gap_ && i >= *gap_ ? i + skipped : i);
      address_.bytes[place] = static_cast<std::uint8_t>(groups_[i] >> 8);
      address_.bytes[place + 1] = static_cast<std::uint8_t>(groups_[i] & 0xff);
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::array<std::uint16_t, most_groups> groups_{};
  std::size_t count_ = 0;
  std::optional<std::size_t> gap_{};  // groups in front of '::'
  Address address_{};
  AddressError error_{};
};

void append_group(std::string& text, unsigned value) {
  std::array<char, 4> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr;
  text.append(digits.data(), end);
}

struct Run {
  std::size_t start = 0;
  std::size_t length = 0;
};

/// The first of the longest runs of two zero groups or more.
Run longest_zeros(const std::array<unsigned, most_groups>& groups) {
  Run longest{.start = 0, .length = 1};
  Run run;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i] != 0) {
      run = {.start = i + 1};
    } else if (++run.length > longest.length) {
      longest = run;
    }
  }
  return longest.length > 1 ? longest : Run{};
}

/// The bits of the 16 bytes that are the same in all of a network.
std::size_t fixed_bits(const Network& network) noexcept {
  return network.first.is_v4() ? mapped_bits + std::size_t{network.bits} : network.bits;
}

/// The address with all bits behind the first `kept` as in `fill`, which is 0 or 255.
Address filled(const Address& address, std::size_t kept, std::uint8_t fill) noexcept {
  Address result = address;
  for (std::size_t i = 0; i < result.bytes.size(); ++i) {
    const std::size_t here = std::min<std::size_t>(kept > 8 * i ? kept - 8 * i : 0, 8);
    const auto behind = static_cast<std::uint8_t>(0xff >> here);
    const auto prefix = static_cast<std::uint8_t>(~behind);
    result.bytes[i] = static_cast<std::uint8_t>((result.bytes[i] & prefix) | (fill & behind));
  }
  return result;
}

/// The digits behind a slash, as a number up to `most`.
std::optional<std::uint8_t> read_bits(std::string_view text, std::uint8_t most) noexcept {
  std::uint8_t bits = 0;
  const char* end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, bits);
  if (fault != std::errc{} || stop != end || bits > most) return {};
  if (text.size() > 1 && text.front() == '0') return {};
  return bits;
}

}  // namespace

Expected<Address, AddressError> parse_address(std::string_view text) noexcept {
  Reader reader(text);
  const bool colons = text.find(':') != text.npos;
  if (!colons && (text.empty() || !is_digit(text.front()))) {
    return AddressError{1, "an address such as 192.0.2.1 or 2001:db8::1"};
  }
  if (colons ? reader.v6() : reader.v4()) return reader.address();
  return reader.error();
}

std::string print(const Address& address) {
  std::string text;
  if (address.is_v4()) {
    for (std::size_t i = 12; i < 16; ++i) {
      if (i > 12) text += '.';
      text += std::to_string(address.bytes[i]);
    }
    return text;
  }
  std::array<unsigned, most_groups> groups{};
  for (std::size_t i = 0; i < groups.size(); ++i) {
    groups[i] = unsigned{address.bytes[2 * i]} << 8 | address.bytes[2 * i + 1];
  }
  const Run zeros = longest_zeros(groups);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (zeros.length > 0 && i == zeros.start) {
      text += "::";
      i += zeros.length - 1;
      continue;
    }
    if (!text.empty() && text.back() != ':') text += ':';
    append_group(text, groups[i]);
  }
  return text;
}

Network Network::around(const Address& address, std::uint8_t bits) noexcept {
  const std::uint8_t most = address.is_v4() ? 32 : 128;
  Network network{.first = address, .bits = std::min(bits, most)};
  network.first = filled(address, fixed_bits(network), 0);
  return network;
}

Address Network::last() const noexcept { return filled(first, fixed_bits(*this), 0xff); }

bool Network::contains(const Address& address) const noexcept {
  return address.is_v4() == first.is_v4() && filled(address, fixed_bits(*this), 0) == first;
}

Expected<Network, NetworkError> parse_network(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto address = parse_address(text.substr(0, slash));
  if (!address) {
    return NetworkError{address.error().column,
                        "expected " + std::string(address.error().expected)};
  }
  if (slash == text.npos) return Network::around(*address, 128);

  // What is written with colons has 128 bits, though it may stand for an address of IPv4.
  const bool colons = text.find(':') != text.npos;
  const std::uint8_t most = colons ? 128 : 32;
  const auto bits = read_bits(text.substr(slash + 1), most);
  if (!bits) {
    return NetworkError{slash + 2, "expected a number of bits from 0 to " + std::to_string(most)};
  }
  const std::size_t fixed = colons ? *bits : mapped_bits + std::size_t{*bits};
  const Address first = filled(*address, fixed, 0);
  const Network network{first,
                        static_cast<std::uint8_t>(first.is_v4() ? fixed - mapped_bits : fixed)};
  if (first != *address) {
    return NetworkError{1, std::string(text) + ": host bits are set; expected " + print(network)};
  }
  return network;
}

std::string print(const Network& network) {
  std::string text = print(network.first);
  if (network.first == network.last()) return text;
  return text + "/" + std::to_string(network.bits);
}

Network grouped(const Address& address, const Grouping& grouping) noexcept {
  return Network::around(address, address.is_v4() ? grouping.v4_bits : grouping.v6_bits);
}

NetworkSet::NetworkSet(const std::vector<Network>& networks) {
  for (const Network& network : networks) {
    (network.first.is_v4() ? v4_ : v6_).push_back({network.first, network.last()});
  }
  v4_ = outermost(std::move(v4_));
  v6_ = outermost(std::move(v6_));
}

// Of two networks, one holds the other or they share nothing.
NetworkSet::Ranges NetworkSet::outermost(Ranges ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& one, const Range& other) {
    return one.first != other.first ? one.first < other.first : one.last > other.last;
  });
  Ranges kept;
  for (const Range& range : ranges) {
    if (kept.empty() || range.first > kept.back().last) kept.push_back(range);
  }
  return kept;
}

bool NetworkSet::contains(const Address& address) const noexcept {
  const Ranges& ranges = address.is_v4() ? v4_ : v6_;
  const auto above = std::upper_bound(
      ranges.begin(), ranges.end(), address,
      [](const Address& wanted, const Range& range) { return wanted < range.first; });
  return above != ranges.begin() && address <= std::prev(above)->last;
}

}  // namespace weir::gateway
