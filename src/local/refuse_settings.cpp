#include "weir/local/refuse_settings.hpp"

#include <stdexcept>
#include <string>

namespace weir {

void refuse_settings(const char* gate, const SettingsError& error) {
  throw std::invalid_argument(std::string(gate) + ": " + error.setting + ": expected " +
                              error.expected);
}

}  // namespace weir
