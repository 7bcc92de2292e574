#include "cli/service_picture.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "cli/service_input.hpp"
#include "cli/service_report.hpp"
#include "cli/svg_axes.hpp"
#include "cli/svg_page.hpp"
#include "weir/duration.hpp"

namespace weir::cli {
namespace {

using std::chrono::nanoseconds;
using svg::number;
using svg::Tenths;
using svg::units;

constexpr Tenths panel_height = units(66);
constexpr const char* shade = "<style>.shade { fill: #8c959f; fill-opacity: .22 }</style>\n";

Instant at_second(std::size_t second) {
  return Instant{std::chrono::seconds{static_cast<std::int64_t>(second)}};
}

/// Powers of ten of a microsecond, from the one below all to the one above all.
struct LatencyScale {
  std::int64_t least;
  std::int64_t most;

  Tenths height(nanoseconds latency) const {
    const double power =
        std::log10(static_cast<double>(std::max<std::int64_t>(latency.count(), 1)));
    const double share =
        (power - 3 - static_cast<double>(least)) / static_cast<double>(most - least);
    return std::llround(std::clamp(share, 0.0, 1.0) * static_cast<double>(panel_height));
  }
};

nanoseconds power_of_ten(std::int64_t power) {
  nanoseconds time{1'000};
  for (; power > 0; --power) time *= 10;
  return time;
}

LatencyScale latency_scale(const Service& service, const std::vector<ServiceResult>& results) {
  nanoseconds shortest = service.timeout;
  nanoseconds longest = service.timeout;
  for (const ServiceResult& result : results) {
    for (const ServiceFigures& second : result.seconds) {
      if (second.answered() == 0) continue;
      shortest = std::min(shortest, second.p99);
      longest = std::max(longest, second.p99);
    }
  }
  LatencyScale scale{0, 1};
  while (power_of_ten(scale.least + 1) <= shortest) ++scale.least;
  scale.most = scale.least + 1;
  while (power_of_ten(scale.most) < longest) ++scale.most;
  return scale;
}

std::string line(const svg::Point& from, const char* rest) {
  return "M" + number(from.x) + " " + number(from.y) + rest;
}

class ServicePicture {
 public:
  ServicePicture(const Service& service, const std::vector<ServiceResult>& results)
      : service_(service), results_(results), latencies_(latency_scale(service, results)) {
    for (const ServiceResult& result : results) {
      best_ = std::max(best_, result.whole.in_time);
      for (const std::int64_t limit : result.limits) highest_ = std::max(highest_, limit);
      for (const ServiceFigures& second : result.seconds) {
        most_ = std::max(most_, second.answered());
      }
    }
    const Frame frame{at_second(0), Instant{service.length()}, 1};
    if (highest_ > 0) {
      columns_ = {{frame, units(64), units(382)},
                  {frame, units(446), units(672)},
                  {frame, units(722), units(936)}};
    } else {
      columns_ = {{frame, units(64), units(492)}, {frame, units(560), units(936)}};
    }
  }

  std::string draw() {
    const std::string summary = summary_text();
    const svg::Heading heading{"A service that is asked for more than it can do", summary};
    y_ = units(14);
    body_ = shade;
    body_ += svg::head(heading, y_);
    draw_legend();
    draw_loads();
    for (const ServiceResult& result : results_) draw_row(result);
    draw_axis();
    return svg::page(heading, y_, body_);
  }

 private:
  std::string summary_text() const {
    std::string text =
        std::to_string(service_.servers) + " servers, " +
        print_duration(std::chrono::duration_cast<Span>(service_.service_time)) +
        " a call: " + std::to_string(static_cast<std::int64_t>(service_.capacity())) +
        " calls/s. An answer after " + timeout_text() + " is worth nothing.";
    if (service_.retries > 0) {
      text += " Who has none asks again, " + std::to_string(service_.retries) +
              (service_.retries == 1 ? " time." : " times.");
    }
    for (const Phase& phase : service_.phases) {
      if (phase.slowdown == 1) continue;
      const std::string written = text_of(phase);
      return text + " Grey: calls take " + written.substr(written.find('x') + 1) +
             " times as long.";
    }
    return text;
  }

  std::string timeout_text() const {
    return print_duration(std::chrono::duration_cast<Span>(service_.timeout));
  }

  struct LegendEntry {
    std::string_view style;
    std::string_view words;
  };

  /// A mark and its words; gives where the next may begin.
  Tenths legend(const svg::Point& at, const LegendEntry& entry) {
    const bool dashes = entry.style == "bound";
    body_ += svg::path(
        {entry.style, dashes ? line({at.x, at.y - units(4)}, "h20")
                             : svg::outline({{at.x, at.y - units(9)}, {units(20), units(9)}})});
    body_ += svg::text({{at.x + units(26), at.y}, "", entry.words});
    return at.x + units(40 + 7 * static_cast<Tenths>(entry.words.size()));
  }

  void draw_legend() {
    y_ += units(14);
    Tenths x = legend({columns_[0].left, y_}, {"go-bar", "answers/s in time"});
    x = legend({x, y_}, {"no-bar", "too late"});
    legend({x, y_}, {"bound", "the most that is possible"});
    y_ += units(24);
    body_ += svg::text({{columns_[1].left, y_}, "", "p99 of answers; dashed: the timeout"});
    if (columns_.size() > 2) {
      body_ += svg::text({{columns_[2].left, y_}, "", "limit of calls in flight"});
    }
  }

  /// What is asked for, above the answers.
  void draw_loads() {
    const TimeScale& time = columns_[0];
    body_ += svg::text({{time.left - units(8), y_}, "dim end", "load"});
    Instant at = at_second(0);
    for (const Phase& phase : service_.phases) {
      const Tenths left = time.x(at);
      at += phase.lasts_for;
      const Tenths right = time.x(at);
      std::string load = text_of({phase.lasts_for, phase.load});
      load.erase(0, load.find('@') + 1);
      if (right - left < units(8 * static_cast<Tenths>(load.size()))) continue;
      body_ += svg::text({{(left + right) / 2, y_}, "dim middle", load});
    }
    y_ += units(4);
  }

  void draw_row(const ServiceResult& result) {
    y_ += units(24);
    const Tenths base = y_ + units(8) + panel_height;
    const std::string share =
        best_ == 0 ? ""
                   : ", " + std::to_string((result.whole.in_time * 100 + best_ / 2) / best_) + "%";
    body_ += svg::text({{columns_[0].left, y_}, "title", result.protection});
    body_ += svg::text(
        {{columns_[0].right, y_}, "end", std::to_string(result.whole.goodput()) + "/s" + share});
    body_ += svg::text({{columns_[1].right, y_}, "end", latency_text(result)});
    draw_slowdowns(columns_[0], base);
    draw_slowdowns(columns_[1], base);
    draw_answers(result, base);
    draw_latencies(result, base);
    if (columns_.size() > 2) draw_limits(result, base);
    y_ = base;
  }

  std::string latency_text(const ServiceResult& result) const {
    std::string text = result.whole.answered() == 0 ? "no answer" : short_time(result.whole.p99);
    const std::string recovery = recovery_text(service_, result);
    if (recovery == "never") return text + ", never recovers";
    if (recovery == "0s") return text + ", recovers at once";
    return recovery == "-" ? text : text + ", recovers in " + recovery;
  }

  void draw_slowdowns(const TimeScale& time, Tenths base) {
    Instant at = at_second(0);
    for (const Phase& phase : service_.phases) {
      const Tenths left = time.x(at);
      at += phase.lasts_for;
      if (phase.slowdown == 1) continue;
      body_ += svg::path({"shade", svg::outline({{left, base - panel_height},
                                                 {time.x(at) - left, panel_height}})});
    }
  }

  void draw_counts(const TimeScale& time, const CountScale& scale, Tenths base) {
    for (Cost count = 0; count <= scale.most; count += scale.step) {
      const Tenths y = base - scale.height(count);
      body_ +=
          svg::path({count > 0 ? "grid" : "axis", line({time.left, y}, "H") + number(time.right)});
      body_ += svg::text({{time.left - units(8), y + units(4)}, "dim end", count_text(count)});
    }
  }

  void draw_area(const char* style, const StepRoom& room,
                 const std::function<Cost(std::size_t)>& of, std::size_t seconds) {
    std::vector<Step> steps;
    for (std::size_t at = 0; at < seconds; ++at) steps.push_back({at_second(at), of(at)});
    body_ += svg::path({style, steps_line(steps, room) + "V" + number(room.base) + "H" +
                                   number(room.time.left) + "z"});
  }

  void draw_answers(const ServiceResult& result, Tenths base) {
    const TimeScale& time = columns_[0];
    const CountScale scale = count_scale({std::max<Cost>(most_, 1), panel_height});
    const StepRoom room{time, scale, base};
    const auto& seconds = result.seconds;
    draw_counts(time, scale, base);
    draw_area(
        "no-bar", room, [&](std::size_t at) { return seconds[at].answered(); }, seconds.size());
    // Nothing shines through: blue is the blue of the legend.
    draw_area(
        "paper", room, [&](std::size_t at) { return seconds[at].in_time; }, seconds.size());
    draw_area(
        "go-bar", room, [&](std::size_t at) { return seconds[at].in_time; }, seconds.size());
    std::vector<Step> possible;
    Instant at = at_second(0);
    for (const Phase& phase : service_.phases) {
      possible.push_back({at, std::llround(most_possible(service_, phase))});
      at += phase.lasts_for;
    }
    body_ += svg::path({"bound", steps_line(possible, room)});
  }

  void draw_latencies(const ServiceResult& result, Tenths base) {
    const TimeScale& time = columns_[1];
    for (std::int64_t power = latencies_.least; power <= latencies_.most; ++power) {
      const Tenths y = base - latencies_.height(power_of_ten(power));
      const bool lowest = power == latencies_.least;
      body_ +=
          svg::path({lowest ? "axis" : "grid", line({time.left, y}, "H") + number(time.right)});
      body_ += svg::text({{time.left - units(8), y + units(4)},
                          "dim end",
                          print_duration(std::chrono::duration_cast<Span>(power_of_ten(power)))});
    }
    std::string data;
    bool drawn = false;
    for (std::size_t at = 0; at < result.seconds.size(); ++at) {
      const ServiceFigures& second = result.seconds[at];
      if (second.answered() > 0) {
        const svg::Point from{time.x(at_second(at)), base - latencies_.height(second.p99)};
        data += drawn ? "V" + number(from.y) : line(from, "");
        data += "H" + number(time.x(at_second(at + 1)));
      }
      drawn = second.answered() > 0;
    }
    body_ += svg::path({"line", data});
    const Tenths y = base - latencies_.height(service_.timeout);
    body_ += svg::path({"bound", line({time.left, y}, "H") + number(time.right)});
  }

  void draw_limits(const ServiceResult& result, Tenths base) {
    const TimeScale& time = columns_[2];
    const CountScale scale = count_scale({highest_, panel_height});
    if (std::ranges::all_of(result.limits, [](std::int64_t limit) { return limit == 0; })) {
      body_ += svg::text(
          {{(time.left + time.right) / 2, base - panel_height / 2}, "dim middle", "no limit"});
      return;
    }
    draw_slowdowns(time, base);
    draw_counts(time, scale, base);
    std::vector<Step> steps;
    for (std::size_t at = 0; at < result.limits.size(); ++at) {
      steps.push_back({at_second(at), result.limits[at]});
    }
    body_ += svg::path({"line", steps_line(steps, {time, scale, base})});
  }

  void draw_axis() {
    for (const TimeScale& time : columns_) {
      const Span spacing = time_spacing(time, {});
      std::string marks;
      for (Instant tick{}; tick <= time.frame.last; tick += spacing) {
        marks += line({time.x(tick), y_}, "v5");
        body_ +=
            svg::text({{time.x(tick), y_ + units(20)}, "middle dim", time_text(tick, spacing)});
      }
      body_ += svg::path({"axis", marks});
    }
    y_ += units(34);
  }

  const Service& service_;
  const std::vector<ServiceResult>& results_;
  LatencyScale latencies_;
  std::vector<TimeScale> columns_;  ///< answers, latencies, and limits where there are any
  std::int64_t best_ = 0;
  std::int64_t most_ = 0;
  std::int64_t highest_ = 0;
  std::string body_;
  Tenths y_ = 0;  ///< down to where the picture is drawn
};

}  // namespace

std::string service_picture(const Service& service, const std::vector<ServiceResult>& results) {
  return ServicePicture(service, results).draw();
}

}  // namespace weir::cli
