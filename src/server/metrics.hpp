// What the server counts, and its text for Prometheus.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "redis/error_reply.hpp"
#include "server/grpc/http2_limits.hpp"
#include "server/speaks.hpp"
#include "weir/local/table.hpp"
#include "weir/redis/policy.hpp"
#include "weir/redis/store.hpp"

namespace weir::server {

/// A number that one thread raises and others read: no locked instruction.
class Counter {
 public:
  void add(std::uint64_t more) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }
  std::uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// What this process has taken of the machine.
struct ProcessUse {
  double user_s;
  double system_s;
  std::uint64_t resident_bytes;

  static ProcessUse so_far();
};

/// Why a connection's stream was given up; the label `kind`.
enum class WireFault : std::uint8_t {
  malformed,
  too_large,
  stalled,
  too_many_connections,
  unauthenticated,  ///< neither handshake nor password in time
  tls,              ///< a handshake that failed
};
inline constexpr std::size_t wire_faults = 6;

/// Limits of `weir serve --help-limits`; the label `limit` is the option's name.
enum class LimitHit : std::uint8_t {
  inline_bytes,
  arguments,
  argument_bytes,
  frame_bytes,
  key_bytes,
  pipeline,
  output_bytes,
  connections,
  connections_per_address,
  write_timeout,
  command_timeout,
  auth_timeout,
  http_head_bytes,
  http_body_bytes,
  http_requests,
  http_head_timeout,
  http_body_timeout,
  rules_of_a_call,  ///< no option, as the next
  held_answers,
};
inline constexpr std::size_t limit_hits = 19;

/// What became of a permit that was shown; the label `result`. Late: its lease had ended.
enum class PermitUse : std::uint8_t { left, left_late, renewed, renewed_late };
inline constexpr std::size_t permit_uses = 4;

inline constexpr std::size_t sources = 6;        ///< of redis::Source
inline constexpr std::size_t call_outcomes = 4;  ///< of redis::CallOutcome

/// How long something took, in a few steps.
struct Durations {
  static constexpr std::array<double, 6> bounds_s{1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0};

  /// So many took as long each.
  void took(std::chrono::duration<double> each, std::uint64_t many = 1) noexcept;

  std::array<Counter, bounds_s.size() + 1> counts;
  Counter total_ns;
};

/// What is read again while the server runs; the label `what`.
enum class Reloaded : std::uint8_t { tls, password, rules, admin_token };
inline constexpr std::size_t reloaded_things = 4;

/// For people.
constexpr const char* name(Reloaded what) noexcept {
  constexpr const char* names[] = {"certificate", "password", "rules", "admin token"};
  return names[static_cast<std::size_t>(what)];
}

/// The counts of one worker thread. Labels are bounded: a rule the operator named, CL.THROTTLE, or
/// all rules that came with requests together; a key never.
struct alignas(64) WorkerMetrics {
  struct PerRule {
    std::array<std::array<Counter, 4>, sources> decisions;  ///< by source, then by verdict
    Counter granted_cost;
    Counter refused_cost;
  };

  explicit WorkerMetrics(std::size_t rules) : per_rule(rules) {}

  void decided(const Rule& rule, Verdict verdict, Cost cost,
               redis::Source source = redis::Source::store) noexcept;
  void store_ended(const redis::StoreReply& reply, std::chrono::nanoseconds time) noexcept;

  /// Of all that came in one reading of a connection.
  void took(Speaks what, std::chrono::duration<double> all, std::uint64_t many) noexcept {
    durations[static_cast<std::size_t>(what)].took(all / static_cast<double>(many), many);
  }
  Counter& asked_by(Speaks what) noexcept { return asked[static_cast<std::size_t>(what)]; }

  void hit(LimitHit limit) noexcept { limits[static_cast<std::size_t>(limit)].add(1); }
  void hit(grpc::Http2Limit limit) noexcept {
    http2_limits[static_cast<std::size_t>(limit)].add(1);
  }
  void showed(PermitUse use) noexcept { permits[static_cast<std::size_t>(use)].add(1); }
  void gave_up(WireFault fault, Speaks what = Speaks::resp) noexcept {
    faults[static_cast<std::size_t>(what)][static_cast<std::size_t>(fault)].add(1);
  }

  const Counter& asked_by(Speaks what) const noexcept {
    return asked[static_cast<std::size_t>(what)];
  }

  std::uint64_t open(Speaks what) const noexcept {
    const auto at = static_cast<std::size_t>(what);
    return opened[at].value() - closed[at].value();
  }

  std::vector<PerRule> per_rule;  ///< CL.THROTTLE, the named rules, and last all others
  /// Commands, HTTP requests, calls of gRPC that have begun.
  std::array<Counter, spoken> asked;
  /// From the arrival of one to its answer, or to its call to the store.
  std::array<Durations, spoken> durations;
  Counter command_errors;
  std::array<Counter, permit_uses> permits;
  std::array<Counter, call_outcomes> store_unanswered;
  std::array<Counter, redis::error_kinds> store_errors;  ///< that it answered with
  Durations store_durations;
  std::array<std::array<Counter, wire_faults>, spoken> faults;
  std::array<Counter, limit_hits> limits;
  std::array<Counter, grpc::http2_limits> http2_limits;
  Counter auth_failures;
  Counter domains_not_found;  ///< calls of RateLimitService, let through
  Counter out_of_memory;      ///< handlers given up
  // Of the control loop alone.
  Counter accept_failures;
  std::array<Counter, reloaded_things> reloads;
  std::array<Counter, reloaded_things> failed_reloads;
  std::array<Counter, spoken> opened;
  std::array<Counter, spoken> closed;
};

/// What rules in force have to tell: of families that limits have too, and of their own.
enum class OfRules : std::uint8_t { decisions, hits, themselves };

/// What one thread that writes snapshots tells.
struct SnapshotMetrics {
  bool kept = false;  ///< whether there are snapshots; set before there are readers
  Counter written;
  Counter failed;
  /// Of the last one.
  std::atomic<std::uint64_t> states{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::int64_t> written_at_us{0};
  std::atomic<std::int64_t> took_us{0};
};

/// How the server's connections to its store are, now and so far; filled by who knows.
struct StoreLink {
  bool answers = false;
  std::string_view circuit = "closed";  ///< of the breaker: or open, half_open
  std::uint64_t connections = 0;        ///< that were made
  std::uint64_t failed_attempts = 0;
  std::uint64_t redirects = 0;
  std::uint64_t late_replies = 0;
  std::uint64_t connected_nodes = 0;
};

/// Everything that is exposed.
class Metrics {
 public:
  explicit Metrics(const Rules& rules);

  /// One for each worker, before it starts; lives as long as this.
  WorkerMetrics& add_worker();

  std::uint64_t connections() const;
  std::uint64_t connections_opened() const;
  std::uint64_t asked(Speaks what) const;

  /// Decisions by verdict under each rule that has a label.
  struct Decisions {
    std::string label;
    std::array<std::uint64_t, 4> by_verdict;
  };
  std::vector<Decisions> decisions() const;

  SnapshotMetrics snapshot;
  std::function<StoreLink()> store_link{};  ///< none without a store; set before there are readers

  /// Appends those of the rules in force; none without rules. Set before there are readers.
  std::function<void(std::string&, OfRules)> write_rules_in_force{};

  /// Prometheus text format 0.0.4.
  std::string text(const Table::Stats& table) const;

 private:
  template <typename Pick>
  std::uint64_t sum(Pick&& pick) const;
  void write_decisions(std::string& text) const;
  void write_hits(std::string& text) const;
  void write_permits(std::string& text) const;
  void write_durations(std::string& text) const;
  struct Series {
    const char* name;
    std::string labels;  ///< without braces
  };
  using DurationsOf = std::function<const Durations&(const WorkerMetrics&)>;
  void write_histogram(std::string& text, const Series& series, const DurationsOf& durations) const;
  void write_store(std::string& text) const;
  void write_snapshot(std::string& text) const;
  static void write_table(std::string& text, const Table::Stats& table);
  void write_connections(std::string& text) const;
  void write_faults(std::string& text) const;
  void write_process(std::string& text) const;

  const std::chrono::system_clock::time_point began_ = std::chrono::system_clock::now();
  std::vector<std::string> rule_labels_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<WorkerMetrics>> workers_;
};

}  // namespace weir::server
