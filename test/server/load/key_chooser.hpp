// Which key is asked for next: one hot key, all alike, or few often and many seldom.
#pragma once

#include <cstdint>
#include <vector>

namespace weir::load {

struct Keys {
  enum class Spread {
    uniform,
    zipf,  ///< key i (from 0) with a chance in proportion to 1 / (i + 1)^exponent
  };

  std::uint64_t count = 1;  ///< > 0; one is the hot key
  Spread spread = Spread::uniform;
  double exponent = 1.0;  ///< of zipf
};

/// Draws key numbers in [0, count). The same seed draws the same numbers, on any standard library.
class KeyChooser {
 public:
  struct Seed {
    std::uint64_t value = 1;
  };

  KeyChooser(const Keys& keys, Seed seed);
  std::uint64_t next();

 private:
  std::uint64_t random();

  std::uint64_t count_;
  std::uint64_t state_;
  /// Of zipf: the chance of a key up to and including this one.
  std::vector<double> chance_up_to_;
};

}  // namespace weir::load
