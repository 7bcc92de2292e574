#include "cli/svg_picture.hpp"

#include <algorithm>

#include "cli/admissions.hpp"
#include "cli/svg.hpp"
#include "cli/svg_axes.hpp"
#include "cli/svg_calls.hpp"
#include "cli/svg_page.hpp"
#include "cli/svg_scale.hpp"
#include "weir/duration.hpp"

namespace weir::cli {
namespace {

using svg::number;
using svg::Tenths;
using svg::units;

constexpr Tenths left = units(64);
constexpr Tenths right = units(932);

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

class Picture {
 public:
  explicit Picture(const PictureEvents& events)
      : events_(events), time_{frame_of(events), left, right} {
    for (const auto& call : events.calls) {
      if (taken(call.verdict)) admissions_.add(call.acts_at, call.cost);
    }
  }

  std::string draw() {
    y_ = units(14);
    body_ += svg::head({events_.title, events_.summary}, y_);
    const DrawnCalls calls = draw_calls(events_.calls, time_, y_);
    body_ += calls.svg;
    y_ = calls.bottom;
    for (std::size_t at = 0; at < std::min<std::size_t>(events_.windows.size(), 3); ++at) {
      draw_window(events_.windows[at]);
    }
    draw_sum();
    const std::string grid = draw_axis(calls.top);
    return svg::page({events_.title, events_.summary}, y_, grid + body_);
  }

 private:
  void head_of_panel(const std::string& words) {
    y_ += units(30);
    const bool plain = std::ranges::all_of(
        events_.calls, [](const PictureEvents::Call& call) { return call.cost <= 1; });
    body_ += svg::text({{left, y_}, "", plain ? words : words + ", in units"});
  }

  void draw_level(const std::vector<Step>& steps, Tenths base, const CountScale& scale) {
    const std::string line = steps_line(steps, {time_, scale, base});
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
    if (near) body_ += svg::path({"bound", steps_line(allowed, {time_, scale, base})});
    y_ = base;
  }

  /// Ends the picture, and gives the lines that lie below all else.
  std::string draw_axis(Tenths top) {
    const Frame& frame = time_.frame;
    const Span spacing = time_spacing(time_, events_.windows);
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
