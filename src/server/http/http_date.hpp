// The Date of an answer, written once a second.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "weir/vocabulary.hpp"

namespace weir::server {

class HttpDate {
 public:
  /// Requires an instant of the Unix clock.
  void now(Instant instant) noexcept;

  /// As in RFC 9110: "Sun, 06 Nov 1994 08:49:37 GMT".
  std::string_view text() const noexcept { return {text_.data(), text_.size()}; }

 private:
  std::int64_t second_ = -1;
  std::array<char, 29> text_{};
};

}  // namespace weir::server
