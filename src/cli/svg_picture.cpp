#include "cli/svg_picture.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "cli/admissions.hpp"
#include "cli/round_span.hpp"
#include "cli/svg.hpp"
#include "cli/svg_calls.hpp"
#include "cli/svg_scale.hpp"
#include "weir/duration.hpp"

namespace weir::cli {
namespace {

using svg::number;
using svg::Tenths;
using svg::units;

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

constexpr Tenths width = units(960);
constexpr Tenths left = units(64);
constexpr Tenths right = units(932);
constexpr Tenths margin = units(20);

/// 950, 1.5k, 12M: what stands beside an axis.
std::string count_text(Cost count) {
  constexpr std::array suffixes{"", "k", "M", "G", "T", "P"};
  std::size_t suffix = 0;
  Cost rest = 0;
  while (count >= 1000 && suffix + 1 < suffixes.size()) {
    rest = count % 1000 / 100;
    count /= 1000;
    ++suffix;
  }
  return std::to_string(count) + (rest > 0 ? "." + std::to_string(rest) : "") + suffixes[suffix];
}

/// The instant in the unit that all multiples of the spacing are short in.
std::string time_text(Instant at, Span spacing) {
  struct Unit {
    std::int64_t ticks;
    std::int64_t finest;  ///< what spacing must be whole in: two decimals, where the unit has them
    const char* name;
  };
  constexpr std::array table{Unit{86'400'000'000, 86'400'000'000, "d"},
                             Unit{3'600'000'000, 3'600'000'000, "h"},
                             Unit{60'000'000, 60'000'000, "m"},
                             Unit{1'000'000, 10'000, "s"},
                             Unit{1'000, 10, "ms"},
                             Unit{1, 1, "us"}};
  const std::int64_t ticks = at.time_since_epoch().count();
  for (const Unit& unit : table) {
    if (spacing.count() % unit.finest != 0 || ticks % unit.finest != 0) continue;
    std::string text = std::to_string(ticks / unit.ticks);
    std::int64_t rest = ticks % unit.ticks * 100 / unit.ticks;
    if (rest != 0) {
      text += rest < 10 ? ".0" : ".";
      text += std::to_string(rest % 10 == 0 ? rest / 10 : rest);
    }
    return text + unit.name;
  }
  return print_duration(at.time_since_epoch());
}

/// What the time axis covers: all that happens, and air to both sides.
Frame frame_of(const PictureEvents& events) {
  Instant first = events.calls.front().at;
  Instant last = first;
  for (const auto& call : events.calls) {
    last = std::max({last, call.at, taken(call.verdict) ? call.acts_at : call.at});
  }
  if (first == last) {
    const Span shortest = events.windows.empty() ? Span{1'000'000} : events.windows.front();
    last += shortest + shortest / 4 + Span{1};
  }
  const Span air = (last - first) / 40 + Span{1};
  // From the clock's 0 where that is near: windows are aligned to it.
  if (first - Instant{} <= (last - first) / 2) first = Instant{};
  return {first - air, last + air, static_cast<std::size_t>((right - left) / 10)};
}

/// Marks at the limit's period where that is sensible, else at round spans.
Span spacing_of(const Frame& frame, const std::vector<Span>& periods) {
  const Span length = frame.last - frame.first;
  const auto fits = [&](Span spacing) {
    if (length / spacing > 12) return false;
    const Instant last{frame.last.time_since_epoch() / spacing * spacing};
    const auto letters = static_cast<std::int64_t>(time_text(last, spacing).size() + 2);
    return length / spacing * letters * units(8) <= right - left;
  };
  for (const Span period : periods) {
    if (length / period >= 2 && fits(period)) return period;
  }
  Span spacing = round_span(length / 12 + Span{1});
  while (!fits(spacing)) spacing = round_span(spacing + Span{1});
  return spacing;
}

/// "8 calls, one every 250ms; most within any 1s: 4, the bound is 4".
std::string summary_of(const Simulation& simulation, const Tally& tally) {
  std::string text = std::to_string(tally.calls()) + (tally.calls() == 1 ? " call" : " calls");
  const Calls& first = simulation.schedule.front();
  if (simulation.schedule.size() == 1 && first.count > 1 && first.every > Span{0}) {
    text += ", one every " + print_duration(first.every);
  }
  if (simulation.cost != 1) text += " of cost " + std::to_string(simulation.cost);
  for (const Tally::Window& window : tally.windows()) {
    text += "; most within any " + print_duration(window.length) + ": " +
            std::to_string(window.most) + ", the bound is " + std::to_string(window.bound);
  }
  return text;
}

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

class Picture {
 public:
  explicit Picture(const PictureEvents& events)
      : events_(events), time_{frame_of(events), left, right} {
    for (const auto& call : events.calls) {
      if (taken(call.verdict)) admissions_.add(call.acts_at, call.cost);
    }
  }

  std::string draw() {
    draw_head();
    const DrawnCalls calls = draw_calls(events_.calls, time_, y_);
    body_ += calls.svg;
    y_ = calls.bottom;
    for (std::size_t at = 0; at < std::min<std::size_t>(events_.windows.size(), 3); ++at) {
      draw_window(events_.windows[at]);
    }
    draw_sum();
    const std::string grid = draw_axis(calls.top);
    return frame() + grid + body_ + "</svg>\n";
  }

 private:
  std::string frame() const {
    const std::string box = number(width) + " " + number(y_);
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + box + "\" width=\"" +
           number(width) + "\" height=\"" + number(y_) + "\" role=\"img\">\n<title>" +
           svg::escaped(events_.title) + "</title>\n<desc>" + svg::escaped(events_.summary) +
           "</desc>\n" + std::string(style) + "<rect class=\"paper\" width=\"" + number(width) +
           "\" height=\"" + number(y_) + "\" rx=\"8\"/>\n";
  }

  void draw_head() {
    // A monospaced letter is 0.61 of its height wide.
    constexpr std::size_t room = static_cast<std::size_t>((width - 2 * margin) / 10 * 100 / 61);
    std::size_t size = 20;
    while (size > 13 && events_.title.size() > room / size) --size;
    y_ = units(14);
    for (const std::string& line : wrapped(events_.title, {room / size})) {
      y_ += units(static_cast<Tenths>(size) + 3);
      body_ += "<text class=\"title\" style=\"font-size:" + std::to_string(size) + "px\" x=\"" +
               number(margin) + "\" y=\"" + number(y_) + "\">" + svg::escaped(line) + "</text>\n";
    }
    y_ += units(5);
    for (const std::string& line : wrapped(events_.summary, {118})) {
      y_ += units(18);
      body_ += svg::text({{margin, y_}, "dim", line});
    }
    y_ += units(14);
  }

  void head_of_panel(const std::string& words) {
    y_ += units(30);
    const bool plain = std::ranges::all_of(
        events_.calls, [](const PictureEvents::Call& call) { return call.cost <= 1; });
    body_ += svg::text({{left, y_}, "", plain ? words : words + ", in units"});
  }

  /// Steps as a line; closed below where it is to be filled.
  std::string line_of(const std::vector<Step>& steps, Tenths base, const CountScale& scale) const {
    std::string data;
    std::optional<svg::Point> last;
    for (const Step& step : steps) {
      const svg::Point point{time_.x(step.at), base - scale.height(step.value)};
      if (!last) {
        data += "M" + number(point.x) + " " + number(point.y);
      } else {
        if (point.x != last->x) data += "H" + number(point.x);
        if (point.y != last->y) data += "V" + number(point.y);
      }
      last = point;
    }
    return data + "H" + number(right);
  }

  void draw_level(const std::vector<Step>& steps, Tenths base, const CountScale& scale) {
    const std::string line = line_of(steps, base, scale);
    body_ += svg::path({"level", line + "V" + number(base) + "H" + number(left) + "z"});
    body_ += svg::path({"axis", "M" + number(left) + " " + number(base) + "H" + number(right)});
    body_ += svg::path({"line", line});
  }

  void draw_counts(Tenths base, const CountScale& scale) {
    for (Cost count = 0; count <= scale.most; count += scale.step) {
      const Tenths y = base - scale.height(count);
      if (count > 0) {
        body_ += svg::path({"grid", "M" + number(left) + " " + number(y) + "H" + number(right)});
      }
      body_ += svg::text({{left - units(8), y + units(4)}, "dim end", count_text(count)});
    }
  }

  /// How much acted in the last `length`, below the bound of that length.
  void draw_window(Span length) {
    head_of_panel("acted in the last " + print_duration(length));
    const std::vector<Step> steps = admissions_.within(length, time_.frame);
    Cost most = 1;
    for (const Step& step : steps) most = std::max(most, step.value);
    const Cost bound = events_.bound(length);
    const bool near = bound / 8 <= most;
    const Tenths base = y_ + units(84);
    const CountScale scale = count_scale({near ? std::max(bound, most) : 2 * most, units(64)});
    draw_counts(base, scale);
    draw_level(steps, base, scale);
    const Tenths y = base - scale.height(bound);
    if (near) {
      body_ += svg::path({"bound", "M" + number(left) + " " + number(y) + "H" + number(right)});
    }
    const std::string words = "the bound: " + std::to_string(bound);
    body_ += svg::text({{right, near ? y - units(6) : y_},
                        near ? "end" : "dim end",
                        near ? words : words + ", far above"});
    y_ = base;
  }

  /// All that acted, below what the bound leaves room for.
  void draw_sum() {
    const std::vector<Step> acted = admissions_.in_all(time_.frame);
    const std::vector<Step> allowed = admissions_.allowed(events_.bound, time_.frame);
    const Cost total = std::max<Cost>(admissions_.total(), 1);
    const bool near = allowed.back().value / 8 <= total;
    head_of_panel("acted in all");
    if (near) {
      const std::string x = number(right - units(228));
      body_ += svg::path({"bound", "M" + x + " " + number(y_ - units(4)) + "h26"});
      body_ += svg::text({{right, y_}, "end", "the bound, over every window"});
    } else {
      body_ += svg::text({{right, y_}, "dim end", "the bound over every window: far above"});
    }
    const Tenths base = y_ + units(124);
    const CountScale scale = count_scale({near ? allowed.back().value : 2 * total, units(108)});
    draw_counts(base, scale);
    draw_level(acted, base, scale);
    if (near) body_ += svg::path({"bound", line_of(allowed, base, scale)});
    y_ = base;
  }

  /// Ends the picture, and gives the lines that lie below all else.
  std::string draw_axis(Tenths top) {
    const Frame& frame = time_.frame;
    const Span spacing = spacing_of(frame, events_.windows);
    std::string marks;
    std::string lines;
    Instant tick{frame.first.time_since_epoch() / spacing * spacing};
    if (tick < frame.first) tick += spacing;
    for (; tick <= frame.last; tick += spacing) {
      const std::string x = number(time_.x(tick));
      lines += "M" + x + " " + number(top) + "V" + number(y_);
      marks += "M" + x + " " + number(y_) + "v5";
      body_ += svg::text({{time_.x(tick), y_ + units(20)}, "middle dim", time_text(tick, spacing)});
    }
    body_ += svg::path({"axis", marks});
    y_ += units(34);
    return svg::path({"grid", lines});
  }

  const PictureEvents& events_;
  TimeScale time_;
  Admissions admissions_;
  std::string body_;
  Tenths y_ = 0;  ///< down to where the picture is drawn
};

}  // namespace

PictureEvents events_of(const Simulation& simulation) {
  PictureEvents events;
  Tally tally(simulation);
  for_each_decision(simulation, [&](Instant now, const Decision& decision) {
    tally.add(decision);
    events.calls.push_back({now, decision.verdict, decision.ready_at, simulation.cost});
  });
  events.title = simulation.limit.text();
  events.summary = summary_of(simulation, tally);
  events.windows = periods_of(simulation.limit);
  events.bound = [config = simulation.limit.config(), cost = simulation.cost](Span length) {
    return Limit::Machine::bound(config, length, cost);
  };
  return events;
}

std::string svg_picture(const PictureEvents& events) { return Picture(events).draw(); }

}  // namespace weir::cli
