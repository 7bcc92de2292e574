// Which texts a rule means: one, those that begin alike, or those of a form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/vocabulary.hpp"

namespace weir::gateway {

struct PatternError {
  std::size_t column;   ///< of the pattern, from 1
  std::string message;  ///< what was expected there
};

/// `abc` matches itself, `abc*` what begins so, and a `*` anywhere stands for any bytes, or none.
/// `\*` is a star and `\\` a backslash. Case counts.
///
/// Threads  any, as it never changes
/// Cost     one pass over the text, whatever the pattern
/// Errors   those of parse()
/// Memory   three bytes for each of the pattern, and a hundred for each star
class Pattern {
 public:
  enum class Kind : std::uint8_t { exact, prefix, wildcard };

  static constexpr std::size_t longest = 1024;

  /// Errors: a pattern longer than `longest`; a backslash in front of anything else.
  static Expected<Pattern, PatternError> parse(std::string_view text);

  Kind kind() const noexcept;
  /// A text that parses to the same pattern.
  std::string text() const;
  bool matches(std::string_view text) const noexcept;
  /// The one text that matches, where there is no star.
  std::optional<std::string_view> only_match() const noexcept {
    return pieces_.size() == 1 ? std::optional<std::string_view>(pieces_.front().text)
                               : std::nullopt;
  }

 private:
  /// The literal text between two stars.
  struct Piece {
    std::string text{};
    /// For each beginning of the text: how long the longest shorter one is that it ends with.
    std::vector<std::uint16_t> borders{};
  };

  Pattern() = default;

  static void set_borders(Piece& piece);
  static std::size_t behind(const Piece& piece, std::string_view text) noexcept;

  std::vector<Piece> pieces_ = std::vector<Piece>(1);  // one more than there are stars
};

}  // namespace weir::gateway
