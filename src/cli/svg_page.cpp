#include "cli/svg_page.hpp"

#include <algorithm>
#include <vector>

namespace weir::cli::svg {
namespace {

constexpr std::string_view style = R"(<style>
text { font: 13px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: #24292f }
.paper { fill: #ffffff }
.title { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-weight: 600 }
.dim { fill: #57606a }
.end { text-anchor: end }
.middle { text-anchor: middle }
.axis { stroke: #8c959f; fill: none }
.grid { stroke: #d8dee4; fill: none }
.go { fill: #0969da }
.wait { fill: #ffffff; stroke: #0969da; stroke-width: 1.5 }
.link { fill: none; stroke: #0969da; stroke-opacity: .45 }
.no { fill: none; stroke: #bc4c00; stroke-width: 1.8 }
.never { fill: none; stroke: #8250df; stroke-width: 1.6 }
.go-bar, .wait-bar, .no-bar, .never-bar { shape-rendering: crispEdges }
.go-bar { fill: #0969da }
.wait-bar { fill: #0969da; fill-opacity: .4 }
.go-bar, .no-bar, .never-bar { fill-opacity: .85 }
.no-bar { fill: #bc4c00 }
.never-bar { fill: #8250df }
.level { fill: #0969da; fill-opacity: .16 }
.line { fill: none; stroke: #0969da; stroke-width: 1.6 }
.bound { fill: none; stroke: #24292f; stroke-width: 1.3; stroke-dasharray: 5 4 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.paper { fill: #0d1117 }
.dim { fill: #9198a1 }
.axis { stroke: #6e7681 }
.grid { stroke: #262c36 }
.go, .go-bar, .wait-bar, .level { fill: #58a6ff }
.wait { fill: #0d1117; stroke: #58a6ff }
.link, .line { stroke: #58a6ff }
.no { stroke: #f0883e }
.no-bar { fill: #f0883e }
.never { stroke: #bc8cff }
.never-bar { fill: #bc8cff }
.bound { stroke: #e6edf3 }
}
</style>
)";

constexpr Tenths margin = units(20);

struct LineLength {
  std::size_t letters;
};

/// Broken at blanks, where there are any.
std::vector<std::string> wrapped(std::string_view text, LineLength line) {
  std::vector<std::string> lines;
  while (text.size() > line.letters) {
    std::size_t cut = text.rfind(' ', line.letters);
    if (cut == std::string_view::npos || cut == 0) cut = line.letters;
    lines.emplace_back(text.substr(0, cut));
    text.remove_prefix(cut);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  }
  lines.emplace_back(text);
  return lines;
}

}  // namespace

std::string head(const Heading& heading, Tenths& y) {
  // A monospaced letter is 0.61 of its height wide.
  constexpr std::size_t room = static_cast<std::size_t>((page_width - 2 * margin) / 10 * 100 / 61);
  std::size_t size = 20;
  while (size > 13 && heading.title.size() > room / size) --size;
  std::string drawn;
  for (const std::string& line : wrapped(heading.title, {room / size})) {
    y += units(static_cast<Tenths>(size) + 3);
    drawn += "<text class=\"title\" style=\"font-size:" + std::to_string(size) + "px\" x=\"" +
             number(margin) + "\" y=\"" + number(y) + "\">" + escaped(line) + "</text>\n";
  }
  y += units(5);
  for (const std::string& line : wrapped(heading.summary, {118})) {
    y += units(18);
    drawn += text({{margin, y}, "dim", line});
  }
  y += units(14);
  return drawn;
}

std::string page(const Heading& heading, Tenths height, std::string_view content) {
  const std::string box = number(page_width) + " " + number(height);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + box + "\" width=\"" +
         number(page_width) + "\" height=\"" + number(height) + "\" role=\"img\">\n<title>" +
         escaped(heading.title) + "</title>\n<desc>" + escaped(heading.summary) + "</desc>\n" +
         std::string(style) + "<rect class=\"paper\" width=\"" + number(page_width) +
         "\" height=\"" + number(height) + "\" rx=\"8\"/>\n" + std::string(content) + "</svg>\n";
}

}  // namespace weir::cli::svg
