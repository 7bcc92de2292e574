#include "cli/svg.hpp"

#include "cli/input.hpp"

namespace weir::cli::svg {

std::string number(Tenths value) {
  const Tenths size = value < 0 ? -value : value;
  std::string text = value < 0 ? "-" : "";
  text += std::to_string(size / 10);
  if (size % 10 != 0) text += "." + std::to_string(size % 10);
  return text;
}

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : printable(text)) {
    switch (c) {
      case '&': safe += "&amp;"; break;
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '"': safe += "&quot;"; break;
      default: safe += c;
    }
  }
  return safe;
}

std::string text(const Text& text) {
  const std::string style = text.style.empty() ? "" : " class=\"" + std::string(text.style) + "\"";
  return "<text x=\"" + number(text.at.x) + "\" y=\"" + number(text.at.y) + "\"" + style + ">" +
         escaped(text.words) + "</text>\n";
}

std::string path(const Path& path) {
  if (path.data.empty()) return "";
  return "<path class=\"" + std::string(path.style) + "\" d=\"" + std::string(path.data) + "\"/>\n";
}

std::string outline(const Box& box) {
  return "M" + number(box.from.x) + " " + number(box.from.y) + "h" + number(box.size.x) + "v" +
         number(box.size.y) + "h" + number(-box.size.x) + "z";
}

}  // namespace weir::cli::svg
