// Waiting for a fact that nobody announces.
#pragma once

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

namespace weir::test {

/// Asks every few milliseconds whether it holds. Throws std::runtime_error, which names the fact,
/// where it does not within a minute.
inline void await(const std::string& fact, const std::function<bool()>& holds) {
  const auto patience_ends_at = std::chrono::steady_clock::now() + std::chrono::minutes{1};
  while (!holds()) {
    if (std::chrono::steady_clock::now() > patience_ends_at) {
      throw std::runtime_error("waited for a minute in vain: " + fact);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
}

}  // namespace weir::test
