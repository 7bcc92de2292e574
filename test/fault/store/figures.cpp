#include "test/fault/store/figures.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "test/history/check.hpp"

namespace weir::test {
namespace {

using redis::Source;
using redis::TroubleKind;

double ms_at(const std::vector<std::int64_t>& sorted, double part) {
  if (sorted.empty()) return 0;
  const auto place = static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1));
  return static_cast<double>(sorted[place]) / 1e6;
}

history::History of_buckets(const std::vector<Call>& calls, Whose whose) {
  history::History records;
  for (const Call& call : calls) {
    if (call.of != Call::Of::bucket) continue;
    if (whose != Whose::all && (whose == Whose::store) != by_store(call)) continue;
    records.push_back({.client = call.client,
                       .key = call.key,
                       .called_at_ns = call.called_at_ns,
                       .returned_at_ns = call.returned_at_ns,
                       .admitted = call.admitted});
  }
  return records;
}

std::string shown(double ms) {
  if (ms < 0) return "–";
  char text[32];
  std::snprintf(text, sizeof text, ms < 10 ? "%.2f" : "%.0f", ms);
  return text;
}

std::string shown(const std::optional<std::int64_t>& units) {
  return units ? std::to_string(*units) : "–";
}

std::string number(const std::optional<std::int64_t>& units) {
  return units ? std::to_string(*units) : "null";
}

std::string joined(const std::vector<std::pair<std::string, std::string>>& notes) {
  std::string text;
  for (const auto& [name, value] : notes) {
    text.append(text.empty() ? "" : "; ").append(name).append(" ").append(value);
  }
  return text;
}

}  // namespace

void count(Figures& figures, const std::vector<Call>& calls) {
  std::vector<std::int64_t> took;
  took.reserve(calls.size());
  for (const Call& call : calls) {
    took.push_back(call.returned_at_ns - call.called_at_ns);
    ++(by_store(call) ? figures.by_store : figures.by_policy);
    figures.timed_out += call.trouble == TroubleKind::timed_out ? 1 : 0;
    figures.misread +=
        call.trouble == TroubleKind::refused || call.trouble == TroubleKind::garbled ? 1 : 0;
    figures.mistaken += call.mistaken ? 1 : 0;
  }
  if (figures.mistaken > 0) {
    figures.notes.emplace_back("told what was another's", std::to_string(figures.mistaken));
  }
  std::sort(took.begin(), took.end());
  figures.calls = calls.size();
  figures.p50_ms = ms_at(took, 0.5);
  figures.p99_ms = ms_at(took, 0.99);
  figures.p999_ms = ms_at(took, 0.999);
  figures.max_ms = ms_at(took, 1);
}

bool by_store(const Call& call) {
  return call.source == Source::store || call.source == Source::cache ||
         call.source == Source::lease;
}

std::int64_t excess_of(const std::vector<Call>& calls, Whose whose) {
  const history::History records = of_buckets(calls, whose);
  const auto kept_with = [&](std::int64_t more) {
    history::Bucket bucket = Asked::bucket;
    bucket.burst += more;
    return history::check_admissions(records, bucket).kept();
  };
  if (kept_with(0)) return 0;
  std::int64_t too_little = 0;
  std::int64_t enough = 1;
  for (; !kept_with(enough); enough *= 2) too_little = enough;
  while (enough - too_little > 1) {
    const std::int64_t middle = too_little + (enough - too_little) / 2;
    (kept_with(middle) ? enough : too_little) = middle;
  }
  return enough;
}

std::int64_t resident_kib() {
  std::ifstream file("/proc/self/statm");
  std::int64_t all = 0;
  std::int64_t resident = 0;
  file >> all >> resident;
  return resident * ::sysconf(_SC_PAGESIZE) / 1024;
}

std::string markdown(const std::vector<Figures>& rows) {
  std::ostringstream text;
  text
      << "| row | fault | calls | by store | by policy | p50 | p99 | p99.9 | max, ms | machine, ms "
         "| excess: store (bound) | share | both | doubled | lost (bound) | recovered, ms | RSS, "
         "KiB | beside |\n"
         "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const Figures& row : rows) {
    const auto& bound = row.of_store_bound;
    for (const std::string& cell :
         {row.row, row.fault, std::to_string(row.calls), std::to_string(row.by_store),
          std::to_string(row.by_policy), shown(row.p50_ms), shown(row.p99_ms), shown(row.p999_ms),
          shown(row.max_ms), shown(row.paused_ms),
          std::to_string(row.of_store) + " (" + (bound ? std::to_string(*bound) : "none") + ")",
          std::to_string(row.of_share), std::to_string(row.excess), shown(row.doubled),
          shown(row.lost) + " (" + std::to_string(row.lost_bound) + ")", shown(row.recovered_ms),
          std::to_string(row.grown_kib), joined(row.notes)}) {
      text << "| " << cell << ' ';
    }
    text << "|\n";
  }
  return text.str();
}

std::string json(const std::vector<Figures>& rows) {
  std::ostringstream text;
  text << "[\n";
  for (const Figures& row : rows) {
    text << R"(  {"row": ")" << row.row << R"(", "calls": )" << row.calls << R"(, "by_store": )"
         << row.by_store << R"(, "by_policy": )" << row.by_policy << R"(, "timed_out": )"
         << row.timed_out << R"(, "misread": )" << row.misread << R"(, "mistaken": )"
         << row.mistaken << R"(, "p50_ms": )" << row.p50_ms << R"(, "p99_ms": )" << row.p99_ms
         << R"(, "p999_ms": )" << row.p999_ms << R"(, "max_ms": )" << row.max_ms
         << R"(, "machine_ms": )" << row.paused_ms << R"(, "excess": )" << row.excess
         << R"(, "of_store": )" << row.of_store << R"(, "of_store_bound": )"
         << number(row.of_store_bound) << R"(, "of_share": )" << row.of_share << R"(, "doubled": )"
         << number(row.doubled) << R"(, "lost": )" << number(row.lost) << R"(, "lost_bound": )"
         << row.lost_bound << R"(, "recovered_ms": )" << row.recovered_ms
         << R"(, "rss_growth_kib": )" << row.grown_kib << R"(, "broken": )" << row.broken.size()
         << "}" << (&row == &rows.back() ? "\n" : ",\n");
  }
  text << "]\n";
  return text.str();
}

}  // namespace weir::test
