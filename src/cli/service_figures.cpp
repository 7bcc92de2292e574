#include "cli/service_figures.hpp"

#include <algorithm>

namespace weir::cli {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

/// Of whole seconds, from the first to before the last.
struct Stretch {
  std::size_t first;
  std::size_t last;
};

/// The least that so many of a hundred do not exceed. Changes the order.
nanoseconds percentile(std::vector<nanoseconds>& latencies, std::size_t of_hundred) {
  if (latencies.empty()) return {};
  const std::size_t rank = (latencies.size() * of_hundred + 99) / 100;
  const auto found =
      latencies.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
  std::nth_element(latencies.begin(), found, latencies.end());
  return *found;
}

ServiceFigures figures_of(const ServiceRun& run, const Stretch& stretch) {
  ServiceFigures figures;
  figures.length = seconds{stretch.last - stretch.first};
  for (std::size_t at = stretch.first; at < stretch.last; ++at) {
    const ServiceRun::Second& second = run.seconds[at];
    figures.offered += second.offered;
    figures.refused += second.refused;
    figures.in_time += second.in_time;
    figures.late += second.late;
  }
  std::vector<nanoseconds> latencies;
  const auto begin = std::ranges::lower_bound(run.answers, nanoseconds{seconds{stretch.first}}, {},
                                              &ServiceRun::Answer::at);
  for (auto answer = begin; answer != run.answers.end() && answer->at < seconds{stretch.last};
       ++answer) {
    latencies.push_back(answer->latency);
  }
  figures.p50 = percentile(latencies, 50);
  figures.p99 = percentile(latencies, 99);
  return figures;
}

std::optional<seconds> recovery(const Service& service, const ServiceRun& run, std::size_t phase) {
  std::size_t second = 0;
  for (std::size_t at = 0; at <= phase; ++at) {
    second += static_cast<std::size_t>(service.phases[at].lasts_for.count());
  }
  const std::size_t begin = second;
  std::size_t good = 0;
  for (std::size_t at = phase + 1; at < service.phases.size(); ++at) {
    if (service.phases[at].slowdown > service.phases[at - 1].slowdown) break;
    const double enough = 0.9 * most_possible(service, service.phases[at]);
    for (seconds rest = service.phases[at].lasts_for; rest > seconds{0}; --rest, ++second) {
      good = static_cast<double>(run.seconds[second].in_time) >= enough ? good + 1 : 0;
      if (good == 3) return seconds{second - 2 - begin};
    }
  }
  return {};
}

}  // namespace

double most_possible(const Service& service, const Phase& phase) {
  return service.capacity() * std::min(phase.load, 1 / phase.slowdown);
}

bool ends_a_slowdown(const Service& service, std::size_t phase) {
  return phase + 1 < service.phases.size() &&
         service.phases[phase].slowdown > service.phases[phase + 1].slowdown;
}

ServiceResult result_of(const Service& service, const std::string& protection,
                        const ServiceRun& run) {
  ServiceResult result;
  result.protection = protection;
  result.whole = figures_of(run, {0, run.seconds.size()});
  result.unanswered = run.unanswered;
  std::size_t first = 0;
  for (std::size_t phase = 0; phase < service.phases.size(); ++phase) {
    const std::size_t last =
        first + static_cast<std::size_t>(service.phases[phase].lasts_for.count());
    result.phases.push_back(figures_of(run, {first, last}));
    first = last;
    result.recovered_after.push_back(ends_a_slowdown(service, phase) ? recovery(service, run, phase)
                                                                     : std::nullopt);
  }
  for (std::size_t at = 0; at < run.seconds.size(); ++at) {
    result.seconds.push_back(figures_of(run, {at, at + 1}));
    result.limits.push_back(run.seconds[at].limit);
  }
  return result;
}

}  // namespace weir::cli
