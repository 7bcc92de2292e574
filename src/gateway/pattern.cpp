#include "gateway/pattern.hpp"

namespace weir::gateway {

Expected<Pattern, PatternError> Pattern::parse(std::string_view text) {
  if (text.size() > longest) {
    return PatternError{longest + 1, "expected " + std::to_string(longest) + " bytes at most"};
  }
  Pattern pattern;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '*') {
      // Two stars together say what one says.
      if (pattern.pieces_.size() == 1 || !pattern.pieces_.back().text.empty()) {
        pattern.pieces_.emplace_back();
      }
      continue;
    }
    if (text[i] == '\\') {
      ++i;
      if (i == text.size() || (text[i] != '*' && text[i] != '\\')) {
        return PatternError{i + 1, "expected '*' or '\\' behind a backslash"};
      }
    }
    pattern.pieces_.back().text += text[i];
  }
  for (Piece& piece : pattern.pieces_) set_borders(piece);
  return pattern;
}

Pattern::Kind Pattern::kind() const noexcept {
  if (pieces_.size() == 1) return Kind::exact;
  return pieces_.size() == 2 && pieces_.back().text.empty() ? Kind::prefix : Kind::wildcard;
}

// The first piece stands at the start and the last at the end. Of those between them each is taken
// where it first fits: that leaves the most text for the rest.
std::string Pattern::text() const {
  std::string text;
  for (std::size_t at = 0; at < pieces_.size(); ++at) {
    if (at > 0) text += '*';
    for (const char c : pieces_[at].text) {
      if (c == '*' || c == '\\') text += '\\';
      text += c;
    }
  }
  return text;
}

bool Pattern::matches(std::string_view text) const noexcept {
  const std::string& first = pieces_.front().text;
  if (pieces_.size() == 1) return text == first;
  const std::string& last = pieces_.back().text;
  if (text.size() < first.size() + last.size()) return false;
  if (!text.starts_with(first) || !text.ends_with(last)) return false;
  text.remove_prefix(first.size());
  text.remove_suffix(last.size());
  for (std::size_t i = 1; i + 1 < pieces_.size(); ++i) {
    const std::size_t next = behind(pieces_[i], text);
    if (next == text.npos) return false;
    text.remove_prefix(next);
  }
  return true;
}

void Pattern::set_borders(Piece& piece) {
  const std::string& text = piece.text;
  piece.borders.assign(text.size(), 0);
  std::uint16_t border = 0;
  for (std::size_t i = 1; i < text.size(); ++i) {
    while (border > 0 && text[i] != text[border]) border = piece.borders[border - 1U];
    if (text[i] == text[border]) ++border;
    piece.borders[i] = border;
  }
}

/// Where the first occurrence of a piece in the text ends (Knuth, Morris, Pratt); npos for none.
std::size_t Pattern::behind(const Piece& piece, std::string_view text) noexcept {
  std::size_t matched = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    while (matched > 0 && text[i] != piece.text[matched]) matched = piece.borders[matched - 1];
    if (text[i] == piece.text[matched]) ++matched;
    if (matched == piece.text.size()) return i + 1;
  }
  return text.npos;
}

}  // namespace weir::gateway
