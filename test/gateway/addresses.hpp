// Addresses and networks for tests: texts that are known to be some, and some made at random.
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "gateway/address.hpp"

namespace weir::gateway {

/// Fails the test where the text is none.
inline Address address(std::string_view text) {
  const auto read = parse_address(text);
  EXPECT_TRUE(read) << text;
  return read ? *read : Address{};
}

inline Network network(std::string_view text) {
  const auto read = parse_network(text);
  EXPECT_TRUE(read) << text;
  return read ? *read : Network{};
}

/// Of either family, with zeros and alike bytes more often than chance has them.
inline Address any_address() {
  Address drawn;
  const auto byte = rc::gen::oneOf(rc::gen::just<std::uint8_t>(0), rc::gen::just<std::uint8_t>(1),
                                   rc::gen::arbitrary<std::uint8_t>());
  const auto zeros = *rc::gen::element<std::size_t>(0, 0, 10, 12);
  for (std::size_t i = zeros; i < drawn.bytes.size(); ++i) drawn.bytes[i] = *byte;
  if (!*rc::gen::arbitrary<bool>()) return drawn;
  return Address::v4({drawn.bytes[12], drawn.bytes[13], drawn.bytes[14], drawn.bytes[15]});
}

}  // namespace weir::gateway
