#include "cli/picture.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "cli/round_span.hpp"
#include "weir/duration.hpp"

namespace weir::cli {
namespace {

/// Where a call shows: when it acts, or when it was refused.
Instant shown_at(Instant now, const Decision& decision) {
  return taken(decision.verdict) ? decision.ready_at : now;
}

/// The row a call shows in; what never can be granted is refused.
std::size_t row_of(Verdict verdict) {
  return static_cast<std::size_t>(std::min(verdict, Verdict::denied));
}

/// What the time axis has to cover.
struct Extent {
  Instant first = Instant::max();
  Instant last = Instant::min();
  std::int64_t grain = 0;  ///< the largest span that all instants are multiples of

  void cover(Instant at) {
    first = std::min(first, at);
    last = std::max(last, at);
    grain = std::gcd(grain, at.time_since_epoch().count());
  }
};

Extent extent_of(const Simulation& simulation) {
  Extent extent;
  for_each_decision(simulation, [&](Instant now, const Decision& decision) {
    extent.cover(now);
    extent.cover(shown_at(now, decision));
  });
  return extent;
}

/// The time axis: columns of equal span, from the origin on.
struct Axis {
  Instant origin;
  Span column;
  std::size_t columns;
  std::size_t stretch;  ///< characters in a column

  std::size_t column_of(Instant at) const {
    return static_cast<std::size_t>((at - origin) / column);
  }
  std::size_t character_of(Instant at) const {
    return static_cast<std::size_t>((at - origin) * static_cast<std::int64_t>(stretch) / column);
  }
  std::size_t width() const { return columns * stretch; }
};

struct Room {
  std::size_t characters;
};

/// Every instant begins a column where the room allows it; else columns are round spans.
Axis lay_out(const Extent& extent, Span period, Room room) {
  const auto columns_of = [&](Instant origin, Span column) {
    return static_cast<std::size_t>((extent.last - origin) / column) + 1;
  };
  for (const std::int64_t grain : {std::gcd(extent.grain, period.count()), extent.grain}) {
    if (grain == 0 || columns_of(extent.first, Span{grain}) > room.characters) continue;
    const std::size_t columns = columns_of(extent.first, Span{grain});
    const std::size_t stretch = std::min<std::size_t>(4, room.characters / columns);
    return {extent.first, Span{grain}, columns, stretch};
  }
  const auto characters = static_cast<std::int64_t>(room.characters);
  Span column = round_span((extent.last - extent.first) / characters + Span{1});
  for (;; column = round_span(column + Span{1})) {
    const Instant origin{extent.first.time_since_epoch() / column * column};
    const std::size_t columns = columns_of(origin, column);
    if (columns <= room.characters) return {origin, column, columns, 1};
  }
}

using Counts = std::array<std::vector<std::int64_t>, 3>;

Counts count_columns(const Simulation& simulation, const Axis& axis) {
  Counts counts;
  counts.fill(std::vector<std::int64_t>(axis.columns));
  for_each_decision(simulation, [&](Instant now, const Decision& decision) {
    ++counts[row_of(decision.verdict)][axis.column_of(shown_at(now, decision))];
  });
  return counts;
}

constexpr std::array ascii_bars{".", ":", "|", "#"};
constexpr std::array utf8_bars{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

struct Share {
  std::int64_t count;    ///< > 0
  std::int64_t tallest;  ///< >= count
};

const char* bar(Share share, Characters characters) {
  const bool utf8 = characters == Characters::utf8;
  const auto bars = static_cast<std::int64_t>(utf8 ? utf8_bars.size() : ascii_bars.size());
  const auto height = static_cast<std::size_t>((share.count * bars - 1) / share.tallest);
  return utf8 ? utf8_bars[height] : ascii_bars[height];
}

/// A bar in a column, as tall as its share of the tallest; no bar where there was nothing.
std::string draw_row(const std::vector<std::int64_t>& counts, const Axis& axis,
                     std::int64_t tallest, Characters characters) {
  std::string row;
  std::string gap;
  for (const std::int64_t count : counts) {
    if (count > 0) row += gap + bar({.count = count, .tallest = tallest}, characters);
    if (count > 0) gap.clear();
    gap.append(count > 0 ? axis.stretch - 1 : axis.stretch, ' ');
  }
  return row;
}

std::string label(Instant at) { return print_duration(at.time_since_epoch()); }

/// Whether marks so far apart can be told apart, and stand where their instants are.
bool shows(const Axis& axis, const Extent& extent, Span spacing) {
  const std::int64_t columns = spacing / axis.column;
  if (spacing % axis.column != Span{0} && columns < 20) return false;
  std::size_t widest = 0;
  Instant tick{extent.last.time_since_epoch() / spacing * spacing};
  for (int labels = 0; labels < 2 && tick >= Instant{}; ++labels, tick -= spacing) {
    widest = std::max(widest, label(tick).size());
  }
  return columns * static_cast<std::int64_t>(axis.stretch) >= static_cast<std::int64_t>(widest + 2);
}

/// Marks at the limit's period where that shows, else at round spans, else at so many columns.
Span tick_spacing(const Axis& axis, const Extent& extent, Span period) {
  if (period <= extent.last - extent.first && shows(axis, extent, period)) return period;
  // Fewer than three marks say little.
  for (Span spacing = round_span(axis.column); spacing <= (extent.last - extent.first) / 2;
       spacing = round_span(spacing + Span{1})) {
    if (shows(axis, extent, spacing)) return spacing;
  }
  Span spacing = axis.column;
  while (!shows(axis, extent, spacing)) spacing *= 2;
  return spacing;
}

std::string draw_axis(const Axis& axis, const Extent& extent, Span period, const Screen& screen,
                      const std::string& indent) {
  const bool utf8 = screen.characters == Characters::utf8;
  const Span spacing = tick_spacing(axis, extent, period);
  std::vector<std::string> marks(axis.width(), utf8 ? "─" : "-");
  std::string labels;
  const auto add_tick = [&](Instant at) {
    const std::size_t position = axis.character_of(at);
    marks[position] = utf8 ? "┬" : "+";
    if (!labels.empty() && position <= labels.size()) return;
    if (position + label(at).size() > screen.columns - indent.size()) return;
    labels.resize(position, ' ');
    labels += label(at);
  };
  Instant tick{axis.origin.time_since_epoch() / spacing * spacing};
  if (tick < axis.origin) tick += spacing;
  if (axis.column_of(tick) >= axis.columns) add_tick(axis.origin);
  for (; axis.column_of(tick) < axis.columns; tick += spacing) add_tick(tick);
  return indent + std::accumulate(marks.begin(), marks.end(), std::string{}) + "\n" + indent +
         labels;
}

}  // namespace

std::string picture(const Simulation& simulation, const Screen& screen) {
  const std::string indent(10, ' ');
  const Span period = periods_of(simulation.limit).front();
  const Extent extent = extent_of(simulation);
  const Axis axis = lay_out(extent, period, {screen.columns - indent.size()});
  const Counts counts = count_columns(simulation, axis);

  std::int64_t tallest = 0;
  for (const auto& row : counts) tallest = std::max(tallest, *std::ranges::max_element(row));
  std::string drawn;
  for (const Verdict verdict : {Verdict::granted, Verdict::deferred, Verdict::denied}) {
    const auto& row = counts[row_of(verdict)];
    if (std::ranges::all_of(row, [](std::int64_t count) { return count == 0; })) continue;
    std::string title = name(verdict);
    title.resize(indent.size(), ' ');
    drawn +=
        title + painted(verdict, draw_row(row, axis, tallest, screen.characters), screen) + "\n";
  }
  drawn += draw_axis(axis, extent, period, screen, indent) + "\n";
  const std::string scale = "a column is " + print_duration(axis.column);
  drawn += indent + scale;
  if (tallest > 1) {
    const std::string height = "the tallest " + std::to_string(tallest) + " calls";
    const bool beside = indent.size() + scale.size() + 2 + height.size() <= screen.columns;
    drawn += beside ? ", " + height : "\n" + indent + height;
  }
  return drawn;
}

}  // namespace weir::cli
