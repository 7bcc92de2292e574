// One connection's replies, in the order of its commands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

namespace weir::server {

/// Replies of which some come later than those behind them: each has its place.
///
/// Memory   what is written and not taken from ready(), and 40 bytes for each reply that is awaited
///          or stands behind one
/// Cost     where all replies come at once, that of a string
class Replies {
 public:
  /// Where the next reply is written at once. Until the next reserve() or fill().
  std::string& tail() noexcept { return places_.empty() ? ready_ : places_.back().text; }

  /// Keeps a place for a reply that comes later, before all that is written from now on.
  std::uint64_t reserve();

  /// The reply has come; whether more is ready now. Requires a place that waits.
  bool fill(std::uint64_t place, std::string&& reply);

  /// Bytes that may be sent. Whoever takes them shortens it.
  std::string& ready() noexcept { return ready_; }

  /// Places whose replies have not come, and those behind them that have.
  std::size_t held_up() const noexcept { return places_.size(); }

  std::size_t bytes() const noexcept {
    return places_.empty() ? ready_.size() : ready_.size() + held_ + places_.back().text.size();
  }

 private:
  struct Place {
    std::string text{};  ///< the reply, once it has come, and what was written behind it
    bool waits = true;
  };

  std::string ready_;
  std::deque<Place> places_;
  std::uint64_t first_ = 0;  ///< the number of the first of them
  std::size_t held_ = 0;     ///< bytes in all of them but the last
};

}  // namespace weir::server
