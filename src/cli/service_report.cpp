#include "cli/service_report.hpp"

#include <algorithm>
#include <functional>
#include <ostream>

#include "cli/service_input.hpp"
#include "weir/duration.hpp"
#include "wire/json.hpp"

namespace weir::cli {
namespace {

using std::chrono::nanoseconds;

std::string microseconds_text(nanoseconds time) {
  return print_duration(std::chrono::duration_cast<Span>(time));
}

std::string right_aligned(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

std::string left_aligned(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

std::string percent(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? "-" : std::to_string((part * 100 + whole / 2) / whole) + "%";
}

std::string time_or_none(const ServiceFigures& figures, nanoseconds time) {
  return figures.answered() == 0 ? "-" : short_time(time);
}

constexpr std::size_t name_width = 14;

std::int64_t best_goodput(const std::vector<ServiceResult>& results) {
  std::int64_t best = 0;
  for (const ServiceResult& result : results) best = std::max(best, result.whole.in_time);
  return best;
}

std::string whole_table(const Service& service, const std::vector<ServiceResult>& results) {
  const std::string title = "whole " + print_duration(service.length());
  std::string text = left_aligned(title, name_width) +
                     " goodput of best  offered refused    late     p50     p99 recovers\n";
  for (const ServiceResult& result : results) {
    const ServiceFigures& whole = result.whole;
    text += left_aligned(result.protection, name_width);
    text += right_aligned(std::to_string(whole.goodput()) + "/s", 8);
    text += right_aligned(percent(whole.in_time, best_goodput(results)), 8);
    text += right_aligned(std::to_string(whole.offered / whole.length.count()) + "/s", 9);
    text += right_aligned(percent(whole.refused, whole.offered), 8);
    text += right_aligned(percent(whole.late, whole.offered), 8);
    text += right_aligned(time_or_none(whole, whole.p50), 8);
    text += right_aligned(time_or_none(whole, whole.p99), 8);
    text += right_aligned(recovery_text(service, result), 9) + "\n";
  }
  return text;
}

using PhaseText = std::function<std::string(const ServiceFigures&)>;

std::string phase_table(const std::string& title, const Service& service,
                        const std::vector<ServiceResult>& results, const PhaseText& phase_text) {
  const auto cell = [](const std::string& text) { return right_aligned(text, 13); };
  std::string text = left_aligned(title, name_width);
  for (const Phase& phase : service.phases) text += cell(text_of(phase));
  text += "\n";
  for (const ServiceResult& result : results) {
    text += left_aligned(result.protection, name_width);
    for (const ServiceFigures& phase : result.phases) text += cell(phase_text(phase));
    text += "\n";
  }
  return text;
}

wire::Json with_figures(wire::Json object, const ServiceFigures& figures) {
  const auto in_us = [](nanoseconds time) { return time.count() / 1000; };
  return object.member("offered", figures.offered)
      .member("admitted", figures.offered - figures.refused)
      .member("refused", figures.refused)
      .member("in_time", figures.in_time)
      .member("late", figures.late)
      .member("p50_us", in_us(figures.p50))
      .member("p99_us", in_us(figures.p99));
}

}  // namespace

std::string short_time(nanoseconds time) {
  struct Unit {
    std::int64_t size;
    const char* name;
  };
  constexpr std::array units{Unit{1'000'000'000, "s"}, Unit{1'000'000, "ms"}, Unit{1'000, "us"}};
  for (const Unit& unit : units) {
    // What rounds up to one of the unit is told in it.
    if (time.count() * 2'000 < unit.size * 1'999) continue;
    std::int64_t parts = 100;
    std::int64_t digits = 0;
    for (;; parts /= 10) {
      digits = (time.count() * parts + unit.size / 2) / unit.size;
      if (digits < 1'000 || parts == 1) break;
    }
    const std::string whole = std::to_string(digits / parts);
    if (parts == 1) return whole + unit.name;
    return whole + "." + std::to_string(parts + digits % parts).substr(1) + unit.name;
  }
  return std::to_string(time.count()) + "ns";
}

std::string recovery_text(const Service& service, const ServiceResult& result) {
  std::optional<std::chrono::seconds> longest;
  for (std::size_t phase = 0; phase < service.phases.size(); ++phase) {
    if (!ends_a_slowdown(service, phase)) continue;
    if (!result.recovered_after[phase]) return "never";
    longest = std::max(longest, result.recovered_after[phase]);
  }
  return longest ? print_duration(*longest) : "-";
}

void report_service_as_text(const Service& service, const std::vector<ServiceResult>& results,
                            std::ostream& out) {
  out << service.servers << " servers take " << microseconds_text(service.service_time)
      << " a call: " << static_cast<std::int64_t>(service.capacity())
      << " calls/s. An answer after " << microseconds_text(service.timeout)
      << " is worth nothing.\n\n"
      << whole_table(service, results) << '\n'
      << phase_table(
             "goodput", service, results,
             [](const ServiceFigures& phase) { return std::to_string(phase.goodput()) + "/s"; })
      << '\n'
      << phase_table("p99", service, results,
                     [](const ServiceFigures& phase) { return time_or_none(phase, phase.p99); });
}

void report_service_as_json(const Service& service, const std::vector<ServiceResult>& results,
                            std::ostream& out) {
  for (const ServiceResult& result : results) {
    for (std::size_t at = 0; at < result.seconds.size(); ++at) {
      wire::Json second = wire::Json::object();
      second.member("protect", result.protection).member("at_s", static_cast<std::int64_t>(at));
      out << with_figures(second, result.seconds[at]).member("limit", result.limits[at]).text()
          << '\n';
    }
  }
  for (const ServiceResult& result : results) {
    wire::Json phases = wire::Json::array();
    for (std::size_t at = 0; at < result.phases.size(); ++at) {
      wire::Json phase = with_figures(
          wire::Json::object().member("phase", text_of(service.phases[at])), result.phases[at]);
      if (ends_a_slowdown(service, at)) {
        const auto& after = result.recovered_after[at];
        phase.member("recovered_after_s", after ? after->count() : std::int64_t{-1});
      }
      phases.element(phase);
    }
    wire::Json summary =
        with_figures(wire::Json::object().member("protect", result.protection), result.whole);
    summary.member("unanswered", result.unanswered).member("phases", phases);
    out << wire::Json::object().member("summary", summary).text() << '\n';
  }
}

}  // namespace weir::cli
