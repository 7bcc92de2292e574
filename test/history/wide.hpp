// Cost times period and instant times count pass 64 bits; both are added up here, exactly.
#pragma once

namespace weir::history {

__extension__ using Wide = __int128;

/// The greatest integer not above numerator / denominator. Requires denominator > 0.
constexpr Wide floor_divide(Wide numerator, Wide denominator) {
  const Wide quotient = numerator / denominator;
  return numerator % denominator < 0 ? quotient - 1 : quotient;
}

}  // namespace weir::history
