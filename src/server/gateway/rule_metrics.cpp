#include "server/gateway/rule_metrics.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "server/metric_text.hpp"

namespace weir::server {
namespace {

using gateway::EdgeRule;

constexpr std::array<const char*, gate_results> result_names{"allowed", "limited",
                                                             "shadow_limited"};

/// A label's value in quotation marks: names of rules hold values of descriptors, so any bytes.
std::string quoted(std::string_view value) {
  std::string text = "\"";
  for (const char c : value) {
    if (c == '\n') {
      text += "\\n";
    } else {
      if (c == '"' || c == '\\') text += '\\';
      text += c;
    }
  }
  return text + '"';
}

/// One rule, or all that have no labels of their own.
struct Row {
  std::string labels;  ///< domain="...",rule="..."
  std::vector<const EdgeRule*> rules;
};

/// Whether the rule has decided anything.
bool has_decided(const EdgeRule& rule, std::span<const RuleCounts* const> workers) {
  for (const RuleCounts* counts : workers) {
    for (const auto& by_source : counts->of(rule.number).decisions) {
      for (const Counter& decisions : by_source) {
        if (decisions.value() > 0) return true;
      }
    }
  }
  return false;
}

std::vector<Row> rows_of(const CountedRules& counted) {
  std::vector<Row> rows;
  Row other{.labels = "domain=\"other\",rule=\"other\"", .rules = {}};
  const auto add = [&](const gateway::Domain& domain, const EdgeRule& rule) {
    if (rows.size() == most_labelled_rules) return other.rules.push_back(&rule);
    rows.push_back({"domain=" + quoted(domain.name) + ",rule=" + quoted(rule.label), {&rule}});
  };
  for (const gateway::Domain& domain : counted.generation.rules.domains()) {
    for (const EdgeRule& rule : domain.rules) add(domain, rule);
    if (has_decided(domain.given, counted.counts)) add(domain, domain.given);
  }
  if (!other.rules.empty()) rows.push_back(std::move(other));
  return rows;
}

/// Sums what `pick` finds in the counts of a row's rules, of all workers.
class Sums {
 public:
  explicit Sums(std::span<const RuleCounts* const> counts) : counts_(counts) {}

  template <typename Pick>
  std::uint64_t operator()(const Row& row, const Pick& pick) const {
    std::uint64_t total = 0;
    for (const RuleCounts* counts : counts_) {
      for (const EdgeRule* rule : row.rules) total += pick(counts->of(rule->number)).value();
    }
    return total;
  }

 private:
  std::span<const RuleCounts* const> counts_;
};

void write_decisions(MetricOut out, const std::vector<Row>& rows, const Sums& sum) {
  for (const Row& row : rows) {
    for (std::size_t result = 0; result < gate_results; ++result) {
      for (std::size_t source = 0; source < sources; ++source) {
        const std::uint64_t total = sum(
            row, [&](const RuleCounts::PerRule& counts) -> auto& {
              return counts.decisions[result][source];
            });
        // Most rules are decided by one source all their lives.
        if (total == 0 && source > 0) continue;
        fmt::format_to(out, "weir_decisions_total{{{},result=\"{}\",source=\"{}\"}} {}\n",
                       row.labels, result_names[result], name(static_cast<redis::Source>(source)),
                       total);
      }
    }
  }
}

void write_hits(MetricOut out, const std::vector<Row>& rows, const Sums& sum) {
  for (const Row& row : rows) {
    for (std::size_t result = 0; result < gate_results; ++result) {
      fmt::format_to(out, "weir_hits_total{{{},result=\"{}\"}} {}\n", row.labels,
                     result_names[result],
                     sum(
                         row, [&](const RuleCounts::PerRule& counts) -> auto& {
                           return counts.hits[result];
                         }));
    }
  }
}

void write_shares(MetricOut out, const std::vector<Row>& rows, const Sums& sum) {
  write_head(out, "weir_rule_near_limit_hits_total", "counter",
             "Of the cost let through or asked, what lay in the last fifth of the limit.");
  for (const Row& row : rows) {
    fmt::format_to(
        out, "weir_rule_near_limit_hits_total{{{}}} {}\n", row.labels,
        sum(
            row, [](const RuleCounts::PerRule& counts) -> auto& { return counts.near_hits; }));
  }
  write_head(out, "weir_rule_over_limit_hits_total", "counter",
             "Of the cost that was refused, what lay beyond the limit.");
  for (const Row& row : rows) {
    fmt::format_to(
        out, "weir_rule_over_limit_hits_total{{{}}} {}\n", row.labels,
        sum(
            row, [](const RuleCounts::PerRule& counts) -> auto& { return counts.over_hits; }));
  }
}

void write_candidates(MetricOut out, const std::vector<Row>& rows, const Sums& sum) {
  write_head(out, "weir_rule_candidate_decisions_total", "counter",
             "What limits that are tried out beside a rule's would have decided.");
  for (const Row& row : rows) {
    if (row.rules.size() != 1) continue;
    const std::vector<gateway::Quota>& candidates = row.rules.front()->candidates;
    for (std::size_t at = 0; at < candidates.size(); ++at) {
      if (!candidates[at].limit) continue;
      const auto line = [&](const char* result, auto pick) {
        fmt::format_to(out,
                       "weir_rule_candidate_decisions_total{{{},candidate={},result=\"{}\"}} {}\n",
                       row.labels, quoted(candidates[at].limit->text()), result, sum(row, pick));
      };
      line(
          "allowed", [at](const RuleCounts::PerRule& counts) -> auto& {
            return counts.candidates[at].allowed;
          });
      line(
          "limited", [at](const RuleCounts::PerRule& counts) -> auto& {
            return counts.candidates[at].refused;
          });
    }
  }
}

void write_fullest(MetricOut out, const std::vector<Row>& rows, const CountedRules& counted) {
  write_head(out, "weir_rule_utilization_ratio", "gauge",
             "Of the keys seen lately, what share of its limit the fullest had used.");
  for (const Row& row : rows) {
    double fullest = 0;
    for (const RuleCounts* counts : counted.counts) {
      for (const EdgeRule* rule : row.rules) {
        fullest = std::max(fullest, counts->of(rule->number).fullest.share(counted.now));
      }
    }
    fmt::format_to(out, "weir_rule_utilization_ratio{{{}}} {}\n", row.labels, fullest);
  }
}

/// Of limits of one term; what several terms allow is no single number.
void write_limits(MetricOut out, const std::vector<Row>& rows) {
  const auto line = [&](const char* name, const Row& row, auto number_of) {
    if (row.rules.size() != 1 || !row.rules.front()->quota.limit) return;
    const LimitTerm* const term = row.rules.front()->quota.limit->only_term();
    if (!term) return;
    if (const auto number = number_of(*term)) {
      fmt::format_to(out, "{}{{{}}} {}\n", name, row.labels, *number);
    }
  };
  write_head(out, "weir_rule_limit", "gauge", "What a rule's limit grants in a window.");
  for (const Row& row : rows) {
    line("weir_rule_limit", row, [](const LimitTerm& term) { return std::optional(term.count); });
  }
  write_head(out, "weir_rule_window_seconds", "gauge",
             "The window of a rule's limit, where it has one length.");
  for (const Row& row : rows) {
    line("weir_rule_window_seconds", row, [](const LimitTerm& term) -> std::optional<double> {
      const auto window = term.window();
      if (!window) return {};
      return static_cast<double>(window->count()) / 1e6;
    });
  }
}

}  // namespace

void write_rule_metrics(std::string& text, OfRules what, const CountedRules& counted) {
  const MetricOut out(text);
  const Generation& generation = counted.generation;
  const std::vector<Row> rows = rows_of(counted);
  const Sums sum(counted.counts);
  if (what == OfRules::decisions) return write_decisions(out, rows, sum);
  if (what == OfRules::hits) return write_hits(out, rows, sum);
  write_head(out, "weir_config_generation", "gauge",
             "How often the rules have changed; the first count too.");
  fmt::format_to(out, "weir_config_generation {}\n", generation.number);
  write_head(out, "weir_config_last_success_timestamp_seconds", "gauge",
             "When the rules in force were read.");
  fmt::format_to(out, "weir_config_last_success_timestamp_seconds {:.3f}\n",
                 std::chrono::duration<double>(generation.read_at.time_since_epoch()).count());
  write_shares(out, rows, sum);
  write_candidates(out, rows, sum);
  write_fullest(out, rows, counted);
  write_limits(out, rows);
}

}  // namespace weir::server
