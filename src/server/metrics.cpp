#include "server/metrics.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "server/metric_text.hpp"

namespace weir::server {
namespace {

constexpr std::array<const char*, wire_faults> wire_fault_names{
    "malformed", "too_large", "stalled", "too_many_connections", "unauthenticated", "tls"};
constexpr std::array<const char*, limit_hits> limit_names{
    "max-inline-bytes",    "max-arguments",       "max-argument-bytes",
    "max-frame-bytes",     "max-key-bytes",       "max-pipeline",
    "max-output-bytes",    "max-connections",     "max-connections-per-address",
    "write-timeout",       "command-timeout",     "auth-timeout",
    "max-http-head-bytes", "max-http-body-bytes", "max-http-requests",
    "http-head-timeout",   "http-body-timeout",   "rules-of-a-call",
    "held-answers"};
/// No options: they are the same for every server.
constexpr std::array<const char*, grpc::http2_limits> http2_limit_names{
    "grpc-streams",          "grpc-header-list-bytes",
    "grpc-continuations",    "grpc-message-bytes",
    "grpc-resets",           "grpc-frames-without-call",
    "grpc-greeting-timeout", "grpc-request-timeout",
    "grpc-answer-timeout",   "grpc-call-timeout"};
constexpr std::array<const char*, permit_uses> permit_use_names{"left", "left_late", "renewed",
                                                                "renewed_late"};
constexpr std::array<const char*, reloaded_things> reload_names{"tls", "password", "rules",
                                                                "admin_token"};

#ifdef __clang__
constexpr const char* compiler = "clang " __clang_version__;
#else
constexpr const char* compiler = "gcc " __VERSION__;
#endif

/// VmRSS, by the kernel's own count of pages.
std::uint64_t bytes_resident() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

ProcessUse ProcessUse::so_far() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return {seconds(usage.ru_utime), seconds(usage.ru_stime), bytes_resident()};
}

void WorkerMetrics::store_ended(const redis::StoreReply& reply,
                                std::chrono::nanoseconds time) noexcept {
  store_durations.took(time);
  if (reply.outcome != redis::CallOutcome::answered) {
    store_unanswered[static_cast<std::size_t>(reply.outcome)].add(1);
  } else if (reply.kind == redis::StoreReply::Kind::error) {
    store_errors[static_cast<std::size_t>(redis::kind_of(reply.text))].add(1);
  }
}

void WorkerMetrics::decided(const Rule& rule, Verdict verdict, Cost cost,
                            redis::Source source) noexcept {
  PerRule& counts = per_rule[std::min<std::size_t>(rule.id, per_rule.size() - 1)];
  counts.decisions[static_cast<std::size_t>(source)][static_cast<std::size_t>(verdict)].add(1);
  (taken(verdict) ? counts.granted_cost : counts.refused_cost)
      .add(static_cast<std::uint64_t>(cost));
}

void Durations::took(std::chrono::duration<double> each, std::uint64_t many) noexcept {
  std::size_t bucket = 0;
  while (bucket < bounds_s.size() && each.count() > bounds_s[bucket]) ++bucket;
  counts[bucket].add(many);
  total_ns.add(static_cast<std::uint64_t>(each.count() * 1e9 * static_cast<double>(many)));
}

Metrics::Metrics(const Rules& rules) {
  // Rule 0 is CL.THROTTLE's; the named ones follow it, for they are added before any request.
  rule_labels_.emplace_back("cl.throttle");
  for (const Rule* rule : rules.named()) rule_labels_.push_back(rule->name);
  rule_labels_.emplace_back("other");
}

WorkerMetrics& Metrics::add_worker() {
  const std::lock_guard lock(mutex_);
  return *workers_.emplace_back(std::make_unique<WorkerMetrics>(rule_labels_.size()));
}

template <typename Pick>
std::uint64_t Metrics::sum(Pick&& pick) const {
  std::uint64_t total = 0;
  for (const auto& worker : workers_) total += pick(*worker).value();
  return total;
}

std::uint64_t Metrics::connections() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t open = 0;
  for (const auto& worker : workers_) open += worker->open(Speaks::resp);
  return open;
}

std::uint64_t Metrics::connections_opened() const {
  const std::lock_guard lock(mutex_);
  return sum([](auto& worker) -> auto& { return worker.opened.front(); });
}

std::uint64_t Metrics::asked(Speaks what) const {
  const std::lock_guard lock(mutex_);
  return sum([what](auto& worker) -> auto& { return worker.asked_by(what); });
}

std::vector<Metrics::Decisions> Metrics::decisions() const {
  const std::lock_guard lock(mutex_);
  std::vector<Decisions> all;
  all.reserve(rule_labels_.size());
  for (std::size_t rule = 0; rule < rule_labels_.size(); ++rule) {
    Decisions& decisions = all.emplace_back(Decisions{rule_labels_[rule], {}});
    for (std::size_t at = 0; at < decisions.by_verdict.size(); ++at) {
      for (std::size_t source = 0; source < sources; ++source) {
        decisions.by_verdict[at] +=
            sum([&](auto& worker) -> auto& { return worker.per_rule[rule].decisions[source][at]; });
      }
    }
  }
  return all;
}

std::string Metrics::text(const Table::Stats& table) const {
  const std::lock_guard lock(mutex_);
  std::string text;
  write_decisions(text);
  write_hits(text);
  write_permits(text);
  if (write_rules_in_force) write_rules_in_force(text, OfRules::themselves);
  write_durations(text);
  if (store_link) write_store(text);
  write_table(text, table);
  if (snapshot.kept) write_snapshot(text);
  write_connections(text);
  write_faults(text);
  write_process(text);
  return text;
}

void Metrics::write_decisions(std::string& text) const {
  const MetricOut out(text);
  const auto decided = [&](std::size_t rule, std::size_t source, Verdict verdict) {
    return sum([&](auto& worker) -> auto& {
      return worker.per_rule[rule].decisions[source][static_cast<std::size_t>(verdict)];
    });
  };
  const std::size_t told_sources = store_link ? sources : 1;  // without a store there is one
  write_head(out, "weir_decisions_total", "counter", "Decisions, by rule, result and source.");
  for (std::size_t rule = 0; rule < rule_labels_.size(); ++rule) {
    for (std::size_t source = 0; source < told_sources; ++source) {
      fmt::format_to(
          out,
          "weir_decisions_total{{rule=\"{0}\",result=\"allowed\",source=\"{1}\"}} {2}\n"
          "weir_decisions_total{{rule=\"{0}\",result=\"limited\",source=\"{1}\"}} {3}\n",
          rule_labels_[rule], name(static_cast<redis::Source>(source)),
          decided(rule, source, Verdict::granted) + decided(rule, source, Verdict::deferred),
          decided(rule, source, Verdict::denied) + decided(rule, source, Verdict::impossible));
    }
  }
  if (write_rules_in_force) write_rules_in_force(text, OfRules::decisions);
  write_head(out, "weir_verdicts_total", "counter", "Decisions of limits, by rule and verdict.");
  for (std::size_t rule = 0; rule < rule_labels_.size(); ++rule) {
    for (const Verdict verdict :
         {Verdict::granted, Verdict::deferred, Verdict::denied, Verdict::impossible}) {
      std::uint64_t total = 0;
      for (std::size_t source = 0; source < sources; ++source) {
        total += decided(rule, source, verdict);
      }
      fmt::format_to(out, "weir_verdicts_total{{rule=\"{}\",verdict=\"{}\"}} {}\n",
                     rule_labels_[rule], name(verdict), total);
    }
  }
}

void Metrics::write_hits(std::string& text) const {
  const MetricOut out(text);
  write_head(out, "weir_hits_total", "counter", "Cost that was asked for, by rule and result.");
  for (std::size_t rule = 0; rule < rule_labels_.size(); ++rule) {
    fmt::format_to(out,
                   "weir_hits_total{{rule=\"{0}\",result=\"allowed\"}} {1}\n"
                   "weir_hits_total{{rule=\"{0}\",result=\"limited\"}} {2}\n",
                   rule_labels_[rule],
                   sum([&](auto& worker) -> auto& { return worker.per_rule[rule].granted_cost; }),
                   sum([&](auto& worker) -> auto& { return worker.per_rule[rule].refused_cost; }));
  }
  if (write_rules_in_force) write_rules_in_force(text, OfRules::hits);
}

void Metrics::write_permits(std::string& text) const {
  const MetricOut out(text);
  write_head(out, "weir_permits_total", "counter",
             "Permits shown to leave or renew, by result; late: the lease had ended.");
  for (std::size_t at = 0; at < permit_use_names.size(); ++at) {
    fmt::format_to(out, "weir_permits_total{{result=\"{}\"}} {}\n", permit_use_names[at],
                   sum([&](auto& worker) -> auto& { return worker.permits[at]; }));
  }
}

void Metrics::write_durations(std::string& text) const {
  const MetricOut out(text);
  write_head(
      out, "weir_decision_duration_seconds", "histogram",
      "Time to parse, decide and answer a request, averaged over what came with it; sampled.");
  for (std::size_t what = 0; what < spoken; ++what) {
    const std::string label = "protocol=\"" + std::string(name(static_cast<Speaks>(what))) + '"';
    write_histogram(
        text, {"weir_decision_duration_seconds", label}, [what](auto& worker) -> auto& {
          return worker.durations[what];
        });
  }
}

void Metrics::write_histogram(std::string& text, const Series& series,
                              const DurationsOf& durations) const {
  const MetricOut out(text);
  const auto& [name, labels] = series;
  const char* comma = labels.empty() ? "" : ",";
  std::uint64_t count = 0;
  for (std::size_t at = 0; at < Durations::bounds_s.size(); ++at) {
    count += sum([&](auto& worker) -> auto& { return durations(worker).counts[at]; });
    fmt::format_to(out, "{}_bucket{{{}{}le=\"{}\"}} {}\n", name, labels, comma,
                   Durations::bounds_s[at], count);
  }
  count += sum([&](auto& worker) -> auto& { return durations(worker).counts.back(); });
  const auto total_ns = sum([&](auto& worker) -> auto& { return durations(worker).total_ns; });
  const std::string braced = labels.empty() ? "" : "{" + labels + "}";
  fmt::format_to(out, "{0}_bucket{{{1}{2}le=\"+Inf\"}} {3}\n{0}_sum{4} {5}\n{0}_count{4} {3}\n",
                 name, labels, comma, count, braced, static_cast<double>(total_ns) * 1e-9);
}

void Metrics::write_store(std::string& text) const {
  using redis::CallOutcome;
  const MetricOut out(text);
  write_head(out, "weir_store_errors_total", "counter",
             "Calls to the store that were not answered, or with an error, by kind.");
  for (const auto outcome :
       {CallOutcome::timed_out, CallOutcome::not_sent, CallOutcome::indeterminate}) {
    fmt::format_to(out, "weir_store_errors_total{{kind=\"{}\"}} {}\n", redis::name(outcome),
                   sum([outcome](auto& worker) -> auto& {
                     return worker.store_unanswered[static_cast<std::size_t>(outcome)];
                   }));
  }
  for (std::size_t at = 0; at < redis::error_kinds; ++at) {
    const std::uint64_t total =
        sum([at](auto& worker) -> auto& { return worker.store_errors[at]; });
    if (total == 0) continue;  // most kinds never come
    fmt::format_to(out, "weir_store_errors_total{{kind=\"{}\"}} {}\n",
                   redis::name(static_cast<redis::ErrorKind>(at)), total);
  }
  write_head(out, "weir_store_request_duration_seconds", "histogram",
             "From a call to the store to its end.");
  write_histogram(
      text, {"weir_store_request_duration_seconds", ""},
      [](auto& worker) -> auto& { return worker.store_durations; });
  const StoreLink link = store_link();
  const auto tell = [&](const char* name, const char* type, const char* help, std::uint64_t value) {
    write_head(out, name, type, help);
    fmt::format_to(out, "{} {}\n", name, value);
  };
  tell("weir_store_up", "gauge", "1 where the last call to the store was answered.", link.answers);
  write_head(out, "weir_breaker_state", "gauge", "1 for how the store's circuit breaker stands.");
  for (const std::string_view circuit : {"closed", "open", "half_open"}) {
    fmt::format_to(out, "weir_breaker_state{{state=\"{}\"}} {}\n", circuit,
                   link.circuit == circuit ? 1 : 0);
  }
  tell("weir_fallback_active", "gauge",
       "1 where the store is left alone, or did not answer last: the policy decides.",
       link.circuit != "closed" || !link.answers);
  tell("weir_store_connected_nodes", "gauge", "Connections to nodes of the store that are ready.",
       link.connected_nodes);
  tell("weir_store_connections_total", "counter", "Connections to the store that were made.",
       link.connections);
  tell("weir_store_connect_failures_total", "counter", "Attempts to connect that failed.",
       link.failed_attempts);
  tell("weir_store_redirects_total", "counter", "Calls that a cluster sent to another node.",
       link.redirects);
  tell("weir_store_late_replies_total", "counter", "Replies that came after their deadline.",
       link.late_replies);
}

void Metrics::write_table(std::string& text, const Table::Stats& table) {
  const MetricOut out(text);
  write_head(out, "weir_keys", "gauge", "Keys whose state is kept.");
  fmt::format_to(out, "weir_keys {}\n", table.keys);
  write_head(out, "weir_keys_evicted_total", "counter", "States dropped; fresh ones say nothing.");
  fmt::format_to(out, "weir_keys_evicted_total{{reason=\"fresh\"}} {}\n", table.dropped);
  write_head(out, "weir_shared_decisions_total", "counter",
             "Decisions on shared states, because the table was at --max-keys or --max-memory.");
  fmt::format_to(out, "weir_shared_decisions_total {}\n", table.shared_answers);
  write_head(out, "weir_memory_bytes", "gauge",
             "Memory of the keyed table, each state at its largest.");
  fmt::format_to(out, "weir_memory_bytes {}\n", table.bytes);
}

void Metrics::write_snapshot(std::string& text) const {
  const MetricOut out(text);
  write_head(out, "weir_snapshot_writes_total", "counter", "Snapshots, by result.");
  fmt::format_to(out,
                 "weir_snapshot_writes_total{{result=\"ok\"}} {}\n"
                 "weir_snapshot_writes_total{{result=\"failed\"}} {}\n",
                 snapshot.written.value(), snapshot.failed.value());
  write_head(out, "weir_snapshot_timestamp_seconds", "gauge", "When the last one was begun.");
  fmt::format_to(out, "weir_snapshot_timestamp_seconds {}\n",
                 static_cast<double>(snapshot.written_at_us) * 1e-6);
  write_head(out, "weir_snapshot_duration_seconds", "gauge", "How long the last one took.");
  fmt::format_to(out, "weir_snapshot_duration_seconds {}\n",
                 static_cast<double>(snapshot.took_us) * 1e-6);
  write_head(out, "weir_snapshot_states", "gauge", "States in the last one.");
  fmt::format_to(out, "weir_snapshot_states {}\n", snapshot.states.load());
  write_head(out, "weir_snapshot_bytes", "gauge", "Size of the last one.");
  fmt::format_to(out, "weir_snapshot_bytes {}\n", snapshot.bytes.load());
}

void Metrics::write_connections(std::string& text) const {
  const MetricOut out(text);
  write_head(out, "weir_connections", "gauge", "Open connections.");
  for (std::size_t what = 0; what < spoken; ++what) {
    std::uint64_t open = 0;
    for (const auto& worker : workers_) open += worker->open(static_cast<Speaks>(what));
    fmt::format_to(out, "weir_connections{{protocol=\"{}\"}} {}\n", name(static_cast<Speaks>(what)),
                   open);
  }
  const auto write_asked = [&](Speaks what, const char* name, const char* help) {
    write_head(out, name, "counter", help);
    fmt::format_to(out, "{} {}\n", name,
                   sum([what](auto& worker) -> auto& { return worker.asked_by(what); }));
  };
  write_asked(Speaks::resp, "weir_commands_total", "Commands answered.");
  write_asked(Speaks::http, "weir_http_requests_total", "HTTP requests handled.");
  write_asked(Speaks::grpc, "weir_grpc_calls_total", "Calls of gRPC that have begun.");
  write_head(out, "weir_command_errors_total", "counter", "Commands answered with an error.");
  fmt::format_to(out, "weir_command_errors_total {}\n",
                 sum([](auto& worker) -> auto& { return worker.command_errors; }));
  write_head(out, "weir_domain_not_found_total", "counter",
             "Calls of RateLimitService for a domain that no rules are of; they are let through.");
  fmt::format_to(out, "weir_domain_not_found_total {}\n",
                 sum([](auto& worker) -> auto& { return worker.domains_not_found; }));
  write_head(out, "weir_auth_failures_total", "counter", "Wrong passwords and admin tokens.");
  fmt::format_to(out, "weir_auth_failures_total {}\n",
                 sum([](auto& worker) -> auto& { return worker.auth_failures; }));
  write_head(out, "weir_accept_failures_total", "counter",
             "Connections that could not be accepted.");
  fmt::format_to(out, "weir_accept_failures_total {}\n",
                 sum([](auto& worker) -> auto& { return worker.accept_failures; }));
  write_head(out, "weir_out_of_memory_total", "counter", "Times that memory ran out.");
  fmt::format_to(out, "weir_out_of_memory_total {}\n",
                 sum([](auto& worker) -> auto& { return worker.out_of_memory; }));
}

void Metrics::write_faults(std::string& text) const {
  const MetricOut out(text);
  write_head(out, "weir_protocol_errors_total", "counter", "Connections given up, by reason.");
  for (std::size_t what = 0; what < spoken; ++what) {
    for (std::size_t kind = 0; kind < wire_fault_names.size(); ++kind) {
      fmt::format_to(out, "weir_protocol_errors_total{{protocol=\"{}\",kind=\"{}\"}} {}\n",
                     name(static_cast<Speaks>(what)), wire_fault_names[kind],
                     sum([&](auto& worker) -> auto& { return worker.faults[what][kind]; }));
    }
  }
  write_head(out, "weir_limit_hits_total", "counter",
             "Limits that clients met, by option or name.");
  for (std::size_t at = 0; at < limit_names.size(); ++at) {
    fmt::format_to(out, "weir_limit_hits_total{{limit=\"{}\"}} {}\n", limit_names[at],
                   sum([&](auto& worker) -> auto& { return worker.limits[at]; }));
  }
  for (std::size_t at = 0; at < http2_limit_names.size(); ++at) {
    fmt::format_to(out, "weir_limit_hits_total{{limit=\"{}\"}} {}\n", http2_limit_names[at],
                   sum([&](auto& worker) -> auto& { return worker.http2_limits[at]; }));
  }
  write_head(out, "weir_config_load_total", "counter",
             "Files read again; a failed one changes nothing.");
  for (std::size_t at = 0; at < reload_names.size(); ++at) {
    fmt::format_to(out,
                   "weir_config_load_total{{what=\"{0}\",result=\"ok\"}} {1}\n"
                   "weir_config_load_total{{what=\"{0}\",result=\"failed\"}} {2}\n",
                   reload_names[at], sum([&](auto& worker) -> auto& { return worker.reloads[at]; }),
                   sum([&](auto& worker) -> auto& { return worker.failed_reloads[at]; }));
  }
}

void Metrics::write_process(std::string& text) const {
  const ProcessUse use = ProcessUse::so_far();
  const MetricOut out(text);
  write_head(out, "weir_build_info", "gauge", "1, with version and compiler in its labels.");
  fmt::format_to(out, "weir_build_info{{version=\"{}\",compiler=\"{}\"}} 1\n", WEIR_VERSION,
                 compiler);
  write_head(out, "process_start_time_seconds", "gauge", "When it began, since 1970.");
  fmt::format_to(out, "process_start_time_seconds {:.3f}\n",
                 std::chrono::duration<double>(began_.time_since_epoch()).count());
  write_head(out, "process_resident_memory_bytes", "gauge", "Resident memory.");
  fmt::format_to(out, "process_resident_memory_bytes {}\n", use.resident_bytes);
  write_head(out, "process_cpu_seconds_total", "counter", "CPU time, user and system.");
  fmt::format_to(out, "process_cpu_seconds_total {}\n", use.user_s + use.system_s);
}

}  // namespace weir::server
