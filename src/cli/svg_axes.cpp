#include "cli/svg_axes.hpp"

#include <array>
#include <optional>

#include "cli/round_span.hpp"
#include "weir/duration.hpp"

namespace weir::cli {

using svg::number;
using svg::units;

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

Span time_spacing(const TimeScale& time, const std::vector<Span>& periods) {
  const Frame& frame = time.frame;
  const Span length = frame.last - frame.first;
  const auto fits = [&](Span spacing) {
    if (length / spacing > 12) return false;
    const Instant last{frame.last.time_since_epoch() / spacing * spacing};
    const auto letters = static_cast<std::int64_t>(time_text(last, spacing).size() + 2);
    return length / spacing * letters * units(8) <= time.right - time.left;
  };
  for (const Span period : periods) {
    if (length / period >= 2 && fits(period)) return period;
  }
  Span spacing = round_span(length / 12 + Span{1});
  while (!fits(spacing)) spacing = round_span(spacing + Span{1});
  return spacing;
}

std::string steps_line(const std::vector<Step>& steps, const StepRoom& room) {
  std::string data;
  std::optional<svg::Point> last;
  for (const Step& step : steps) {
    const svg::Point point{room.time.x(step.at), room.base - room.scale.height(step.value)};
    if (!last) {
      data += "M" + number(point.x) + " " + number(point.y);
    } else {
      if (point.x != last->x) data += "H" + number(point.x);
      if (point.y != last->y) data += "V" + number(point.y);
    }
    last = point;
  }
  return data + "H" + number(room.time.right);
}

}  // namespace weir::cli
