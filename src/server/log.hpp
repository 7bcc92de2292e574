// The server's log: every line that it writes about itself.
#pragma once

#include <spdlog/common.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <variant>

namespace spdlog {
class logger;
}

namespace weir::server {

enum class LogFormat : std::uint8_t { text, json };
enum class LogLevel : std::uint8_t { info, warning, error, off };

struct LogOptions {
  LogFormat format = LogFormat::text;
  LogLevel level = LogLevel::info;  ///< of what is written, and above
};

/// What there is to tell. A new kind gets its words, level and rate in log.cpp.
enum class LogKind : std::uint8_t {
  draining,
  stopped,
  accept_failed,
  turned_away,
  malformed_request,
  stalled_client,
  few_files,
  readable_secret,
  reload_failed,
  reloaded,
  snapshot_read,
  snapshot_refused,
  snapshot_failed,
  out_of_memory,
  store_gone,
  store_answers,
  store_refused,
  administered,
  too_many_rules,
  domain_not_found,
};
inline constexpr std::size_t log_kinds = 20;

struct LogField {
  std::string_view name;  ///< ours, so it needs no escape
  std::variant<std::string_view, std::int64_t> value;
};

/// One line a message on standard error: when, how grave, what, and its fields. A value that came
/// from outside can neither end its line nor look like another field.
///
/// Threads  safe from any thread
/// Cost     a lock and a clock reading where the line is suppressed; else one write
/// Errors   none: a line that cannot be written is lost
class Log {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  explicit Log(const LogOptions& options);
  Log(const LogOptions& options, spdlog::sink_ptr sink, Clock clock);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  /// Each kind may write so many lines in each period. The rest are counted.
  void write(LogKind kind, std::initializer_list<LogField> fields = {});

  static constexpr std::chrono::minutes period{1};

  /// Tells what was suppressed in periods begun so long ago; to be called about once a second.
  void tell_suppressed(std::chrono::seconds least_age = period);

 private:
  struct Quota {
    std::chrono::steady_clock::time_point begun_at{};
    std::int64_t written = 0;
    std::int64_t suppressed = 0;
  };

  bool admits(LogKind kind);
  void emit(LogKind kind, std::initializer_list<LogField> fields, std::int64_t suppressed);
  std::string line(LogKind kind, std::initializer_list<LogField> fields,
                   std::int64_t suppressed) const;

  LogOptions options_;
  Clock clock_;
  std::unique_ptr<spdlog::logger> logger_;
  std::mutex mutex_;  ///< of quotas_
  std::array<Quota, log_kinds> quotas_{};
};

}  // namespace weir::server
