#include "cli/svg_calls.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "cli/round_span.hpp"
#include "weir/duration.hpp"

namespace weir::cli {
namespace {

using svg::number;
using svg::Tenths;
using svg::units;
using Call = PictureEvents::Call;

constexpr Tenths tallest_stack = units(92);

/// Which places on a line are taken, and how high marks are piled there.
struct Piles {
  std::vector<Tenths> xs;           ///< of the marks, in order
  std::vector<std::size_t> levels;  ///< of the marks, from 0
  std::size_t height = 0;           ///< in marks
};

/// Each mark at its own place, above those that it would lie on.
Piles pile(std::vector<Tenths> xs, Tenths cell) {
  Piles piles{std::move(xs), {}, 0};
  std::vector<Tenths> ends;
  for (const Tenths x : piles.xs) {
    const auto free = std::ranges::find_if(ends, [&](Tenths end) { return end + cell <= x; });
    piles.levels.push_back(static_cast<std::size_t>(free - ends.begin()));
    if (free == ends.end()) {
      ends.push_back(x);
    } else {
      *free = x;
    }
    if (ends.size() > 200) break;  // too many in any case
  }
  piles.height = ends.size();
  return piles;
}

/// The most marks of one place.
std::size_t most_at_once(const std::vector<Tenths>& xs) {
  std::size_t most = 0;
  std::size_t run = 0;
  for (std::size_t at = 0; at < xs.size(); ++at) {
    run = at > 0 && xs[at] == xs[at - 1] ? run + 1 : 1;
    most = std::max(most, run);
  }
  return most;
}

/// The largest marks that lie side by side; else any that fit; nothing where there are too many.
std::optional<Tenths> cell_for(const std::vector<std::vector<Tenths>>& lines) {
  constexpr std::array cells{units(11), units(9), units(7), units(5)};
  std::size_t marks = 0;
  for (const auto& xs : lines) marks += xs.size();
  if (marks > 900) return {};
  for (const std::size_t spare : {0U, 1U}) {
    for (const Tenths cell : cells) {
      const bool fits = std::ranges::all_of(lines, [&](const std::vector<Tenths>& xs) {
        const std::size_t height = pile(xs, cell).height;
        return height <= most_at_once(xs) + spare &&
               static_cast<Tenths>(height) * cell <= tallest_stack;
      });
      if (fits) return cell;
    }
  }
  return {};
}

std::string circle(const svg::Point& at, Tenths radius) {
  return "<circle cx=\"" + number(at.x) + "\" cy=\"" + number(at.y) + "\" r=\"" + number(radius) +
         "\"/>\n";
}

std::string cross(const svg::Point& at, Tenths arm) {
  const std::string across = number(2 * arm);
  return "M" + number(at.x - arm) + " " + number(at.y - arm) + "l" + across + " " + across + "m0-" +
         across + "l-" + across + " " + across;
}

std::string crossed_box(const svg::Point& at, Tenths arm) {
  return svg::outline({{at.x - arm, at.y - arm}, {2 * arm, 2 * arm}}) + "M" + number(at.x - arm) +
         " " + number(at.y + arm) + "l" + number(2 * arm) + "-" + number(2 * arm);
}

/// Marks of each verdict, to be drawn kind by kind.
struct Marks {
  std::array<std::string, 4> drawn;

  void add(Verdict verdict, const svg::Point& at, Tenths cell) {
    std::string& to = drawn[static_cast<std::size_t>(verdict)];
    switch (verdict) {
      case Verdict::granted: to += circle(at, cell * 4 / 10); break;
      case Verdict::deferred: to += circle(at, cell * 4 / 10 - 5); break;
      case Verdict::denied: to += cross(at, cell * 3 / 10); break;
      case Verdict::impossible: to += crossed_box(at, cell * 35 / 100); break;
    }
  }

  std::string text() const {
    std::string text;
    for (const auto& [verdict, name] : {std::pair{0U, "go"}, std::pair{1U, "wait"}}) {
      if (drawn[verdict].empty()) continue;
      text += "<g class=\"" + std::string(name) + "\">\n" + drawn[verdict] + "</g>\n";
    }
    return text + svg::path({"no", drawn[2]}) + svg::path({"never", drawn[3]});
  }
};

/// From where a call came down to where it acts, without crossing those that act before it.
std::string link(const svg::Point& from, const svg::Point& to) {
  const Tenths middle = (from.y + to.y) / 2;
  return "M" + number(from.x) + " " + number(from.y) + "C" + number((from.x + to.x) / 2) + " " +
         number(from.y) + " " + number(to.x) + " " + number(middle) + " " + number(to.x) + " " +
         number(to.y);
}

class Drawing {
 public:
  Drawing(const std::vector<Call>& calls, const TimeScale& time) : calls_(calls), time_(time) {
    for (const Call& call : calls) ++counts_[static_cast<std::size_t>(call.verdict)];
  }

  DrawnCalls draw(Tenths top) {
    legend_y_ = top + units(20);
    y_ = legend_y_ + units(10);
    const std::vector<Tenths> up = xs_of([](const Call& call) { return taken(call.verdict); });
    const std::vector<Tenths> down = xs_of([](const Call& call) { return !taken(call.verdict); });
    const auto cell = cell_for({up, down});
    if (cell) {
      draw_marks({*cell, up, down});
    } else {
      draw_bars();
    }
    draw_legend(cell ? Sign::mark : Sign::bar);
    if (count(Verdict::deferred) > 0) draw_acts();
    return {svg::path({"link", links_}) + body_ + marks_.text(), legend_y_ + units(10), y_};
  }

 private:
  struct MarkLines {
    Tenths cell;
    const std::vector<Tenths>& up;
    const std::vector<Tenths>& down;
  };

  std::int64_t count(Verdict verdict) const { return counts_[static_cast<std::size_t>(verdict)]; }

  template <typename Wanted>
  std::vector<Tenths> xs_of(Wanted wanted) const {
    std::vector<Tenths> xs;
    for (const Call& call : calls_) {
      if (wanted(call)) xs.push_back(time_.x(call.at));
    }
    return xs;
  }

  enum class Sign : std::uint8_t { mark, bar };

  void draw_legend(Sign sign) {
    Tenths x = time_.left;
    for (std::size_t kind = 0; kind < counts_.size(); ++kind) {
      if (counts_[kind] == 0) continue;
      const auto verdict = static_cast<Verdict>(kind);
      const svg::Point at{x + units(5), legend_y_ - units(4)};
      if (sign == Sign::mark) marks_.add(verdict, at, units(11));
      if (sign == Sign::bar) {
        body_ +=
            svg::path({bar_styles[kind],
                       svg::outline({{x + units(2), at.y - units(5)}, {bar_width, units(10)}})});
      }
      const std::string text = std::to_string(counts_[kind]) + " " + name(verdict);
      body_ += svg::text({{x + units(16), legend_y_}, "", text});
      x += units(44) + static_cast<Tenths>(text.size()) * units(7);
    }
  }

  void label(std::string_view words) {
    body_ += svg::text({{time_.left - units(8), y_ + units(4)}, "dim end", words});
  }

  void draw_base() {
    body_ += svg::path(
        {"axis", "M" + number(time_.left) + " " + number(y_) + "H" + number(time_.right)});
  }

  void draw_marks(const MarkLines& lines) {
    const Piles up = pile(lines.up, lines.cell);
    const Piles down = pile(lines.down, lines.cell);
    y_ += units(6) + static_cast<Tenths>(up.height) * lines.cell;
    draw_base();
    label("calls");
    std::size_t above = 0;
    std::size_t below = 0;
    for (const Call& call : calls_) {
      const Tenths x = time_.x(call.at);
      const bool is_up = taken(call.verdict);
      const Tenths level = static_cast<Tenths>(is_up ? up.levels[above++] : down.levels[below++]);
      const Tenths away = level * lines.cell + lines.cell / 2 + units(2);
      const svg::Point at{x, is_up ? y_ - away : y_ + away};
      marks_.add(call.verdict, at, lines.cell);
      if (is_up) from_.push_back(at);
    }
    y_ += units(4) + static_cast<Tenths>(down.height) * lines.cell;
  }

  static constexpr std::array bar_styles{"go-bar", "wait-bar", "no-bar", "never-bar"};
  static constexpr Tenths bar_width = units(4);

  /// Of each bar's instants: how many calls of each verdict.
  using Bars = std::map<Instant, std::array<std::int64_t, 4>>;

  /// What a bar counts: a round span, so that an even pace gives even bars.
  Span bar_span() const {
    const Span length = time_.frame.last - time_.frame.first;
    return round_span(length / ((time_.right - time_.left) / bar_width) + Span{1});
  }
  Instant bar_of(Instant at) const {
    return Instant{at.time_since_epoch() / bar_span() * bar_span()};
  }
  Tenths middle_of(Instant bar) const { return (time_.x(bar) + time_.x(bar + bar_span())) / 2; }

  void draw_bars() {
    Bars bars;
    for (const Call& call : calls_) ++bars[bar_of(call.at)][static_cast<std::size_t>(call.verdict)];
    std::int64_t up = 0;
    std::int64_t down = 0;
    for (const auto& [bar, counts] : bars) {
      up = std::max(up, counts[0] + counts[1]);
      down = std::max(down, counts[2] + counts[3]);
    }
    const CountScale scale{std::max<Cost>(1, up + down), units(110), 1};
    y_ += units(6) + scale.height(up);
    draw_base();
    label("calls");
    add_bars(bars, scale);
    const std::string words = "a bar is " + print_duration(bar_span()) + ", the tallest " +
                              std::to_string(std::max(up, down)) + " calls";
    body_ += svg::text({{time_.right, legend_y_}, "dim end", words});
    for (const Call& call : calls_) {
      if (taken(call.verdict)) from_.push_back({middle_of(bar_of(call.at)), y_});
    }
    y_ += units(4) + scale.height(down);
  }

  void add_bars(const Bars& bars, const CountScale& scale) {
    std::array<std::string, 4> drawn;
    for (const auto& [bar, counts] : bars) {
      const Tenths x = time_.x(bar);
      Tenths up = y_;
      Tenths down = y_;
      for (std::size_t kind = 0; kind < counts.size(); ++kind) {
        if (counts[kind] == 0) continue;
        const Tenths height = std::max(scale.height(counts[kind]), units(1));
        Tenths& edge = kind < 2 ? up : down;
        if (kind < 2) edge -= height;
        drawn[kind] += svg::outline({{x, edge}, {time_.x(bar + bar_span()) - x, height}});
        if (kind >= 2) edge += height;
      }
    }
    for (std::size_t kind = 0; kind < drawn.size(); ++kind) {
      body_ += svg::path({bar_styles[kind], drawn[kind]});
    }
  }

  /// Where all that were taken act.
  void draw_acts() {
    std::vector<Tenths> xs;
    for (const Call& call : calls_) {
      if (!taken(call.verdict)) continue;
      xs.push_back(time_.x(call.acts_at));
      verdicts_.push_back(call.verdict);
    }
    std::vector<svg::Point> to;
    if (const auto cell = cell_for({xs})) {
      const Piles piles = pile(xs, *cell);
      y_ += units(30) + static_cast<Tenths>(piles.height) * *cell;
      for (std::size_t at = 0; at < xs.size(); ++at) {
        const Tenths away = static_cast<Tenths>(piles.levels[at]) * *cell + *cell / 2 + units(2);
        to.push_back({xs[at], y_ - away});
        marks_.add(Verdict::granted, to.back(), *cell);
      }
    } else {
      draw_act_bars(to);
    }
    draw_base();
    label("act");
    draw_links(to);
    y_ += units(2);
  }

  void draw_act_bars(std::vector<svg::Point>& to) {
    Bars bars;
    std::int64_t most = 1;
    for (const Call& call : calls_) {
      if (!taken(call.verdict)) continue;
      most = std::max(most, ++bars[bar_of(call.acts_at)][0]);
    }
    const CountScale scale{most, units(28), 1};
    y_ += units(58);
    add_bars(bars, scale);
    for (const Call& call : calls_) {
      if (!taken(call.verdict)) continue;
      to.push_back({middle_of(bar_of(call.acts_at)), y_ - units(28)});
    }
  }

  /// One for each two places, and of too many an even choice.
  void draw_links(const std::vector<svg::Point>& to) {
    constexpr std::size_t most = 240;
    std::vector<std::size_t> ties;
    for (std::size_t at = 0; at < to.size(); ++at) {
      if (verdicts_[at] != Verdict::deferred) continue;
      const bool again = !ties.empty() && from_[ties.back()].x == from_[at].x &&
                         from_[ties.back()].y == from_[at].y && to[ties.back()].x == to[at].x;
      if (!again) ties.push_back(at);
    }
    const std::size_t every = (ties.size() + most - 1) / most;
    for (std::size_t at = 0; at < ties.size(); at += every) {
      links_ += link(from_[ties[at]], to[ties[at]]);
    }
  }

  const std::vector<Call>& calls_;
  const TimeScale& time_;
  std::array<std::int64_t, 4> counts_{};
  Marks marks_;
  std::string links_;
  std::string body_;
  std::vector<svg::Point> from_;   ///< where those that were taken came, in order
  std::vector<Verdict> verdicts_;  ///< of the same
  Tenths y_ = 0;
  Tenths legend_y_ = 0;
};

}  // namespace

DrawnCalls draw_calls(const std::vector<Call>& calls, const TimeScale& time, Tenths top) {
  return Drawing(calls, time).draw(top);
}

}  // namespace weir::cli
