#include "server/log.hpp"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <new>
#include <utility>

namespace weir::server {
namespace {

struct Kind {
  const char* words;
  LogLevel level;
  std::int64_t most;  ///< lines in a period
};

constexpr std::size_t longest_value = 256;

/// In the order of LogKind.
constexpr std::array<Kind, log_kinds> kinds{{
    {"draining", LogLevel::info, 60},
    {"stopped", LogLevel::info, 60},
    {"cannot accept a connection", LogLevel::error, 6},
    {"turned a client away", LogLevel::warning, 6},
    {"malformed request", LogLevel::warning, 12},
    {"cut off a stalled client", LogLevel::warning, 12},
    {"too few open files for all clients", LogLevel::warning, 6},
    {"everybody can read a secret", LogLevel::warning, 6},
    {"cannot reload", LogLevel::error, 12},
    {"reloaded", LogLevel::info, 12},
    {"snapshot read", LogLevel::info, 6},
    {"snapshot refused", LogLevel::error, 6},
    {"snapshot not written", LogLevel::error, 1},
    {"out of memory", LogLevel::error, 1},
    {"store does not answer", LogLevel::error, 6},
    {"store answers", LogLevel::info, 6},
    {"store refuses", LogLevel::error, 6},
    {"asked by an operator", LogLevel::info, 60},
    {"a call meets too many rules", LogLevel::error, 6},
    {"no rules of the domain", LogLevel::warning, 6},
}};

const Kind& kind_of(LogKind kind) { return kinds[static_cast<std::size_t>(kind)]; }

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
    case LogLevel::info: return spdlog::level::info;
    case LogLevel::warning: return spdlog::level::warn;
    case LogLevel::error: return spdlog::level::err;
    case LogLevel::off: return spdlog::level::off;
  }
  return spdlog::level::off;
}

void append_hex(std::string& line, unsigned char byte) {
  constexpr char digits[] = "0123456789abcdef";
  line += digits[byte >> 4];
  line += digits[byte & 15];
}

bool needs_no_quotes(std::string_view value) {
  if (value.empty()) return false;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= ' ' || byte > '~' || c == '"' || c == '\\' || c == '=') return false;
  }
  return true;
}

/// What is not printable ASCII shows as \x1b; in JSON, where that is no escape, as \u001b. Bytes
/// above it too: a terminal takes some of them for commands.
void append_quoted(std::string& line, std::string_view value, LogFormat format) {
  line += '"';
  for (const char c : value.substr(0, longest_value)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < ' ' || byte > '~') {
      line += format == LogFormat::json ? "\\u00" : "\\x";
      append_hex(line, byte);
    } else {
      if (c == '"' || c == '\\') line += '\\';
      line += c;
    }
  }
  if (value.size() > longest_value) line += "...";
  line += '"';
}

void append(std::string& line, const LogField& field, LogFormat format) {
  const auto* text = std::get_if<std::string_view>(&field.value);
  if (format == LogFormat::json) {
    line += ",\"";
    line += field.name;
    line += "\":";
  } else {
    line += ' ';
    line += field.name;
    line += '=';
  }
  if (!text) {
    line += std::to_string(std::get<std::int64_t>(field.value));
  } else if (format == LogFormat::text && text->size() <= longest_value && needs_no_quotes(*text)) {
    line += *text;
  } else {
    append_quoted(line, *text, format);
  }
}

}  // namespace

Log::Log(const LogOptions& options)
    : Log(options, std::make_shared<spdlog::sinks::stderr_sink_mt>(),
          [] { return std::chrono::steady_clock::now(); }) {}

Log::Log(const LogOptions& options, spdlog::sink_ptr sink, Clock clock)
    : options_(options),
      clock_(std::move(clock)),
      logger_(std::make_unique<spdlog::logger>("weir", std::move(sink))) {
  const char* pattern = options.format == LogFormat::json
                            ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})"
                            : "%Y-%m-%dT%H:%M:%S.%eZ %l %v";
  logger_->set_formatter(
      std::make_unique<spdlog::pattern_formatter>(pattern, spdlog::pattern_time_type::utc));
  logger_->set_level(level_of(options.level));
  logger_->flush_on(spdlog::level::trace);
  logger_->set_error_handler([](const std::string&) {});
}

Log::~Log() = default;

void Log::write(LogKind kind, std::initializer_list<LogField> fields) {
  if (kind_of(kind).level < options_.level || !admits(kind)) return;
  emit(kind, fields, 0);
}

bool Log::admits(LogKind kind) {
  const auto now = clock_();
  const std::lock_guard lock(mutex_);
  Quota& quota = quotas_[static_cast<std::size_t>(kind)];
  // A period whose suppressed lines nobody has told of yet goes on until they are told of.
  if (quota.suppressed == 0 && now - quota.begun_at >= period) quota = {now, 0, 0};
  if (quota.written >= kind_of(kind).most) {
    ++quota.suppressed;
    return false;
  }
  ++quota.written;
  return true;
}

void Log::tell_suppressed(std::chrono::seconds least_age) {
  const auto now = clock_();
  for (std::size_t at = 0; at < log_kinds; ++at) {
    std::int64_t suppressed = 0;
    {
      const std::lock_guard lock(mutex_);
      Quota& quota = quotas_[at];
      if (quota.suppressed == 0 || now - quota.begun_at < least_age) continue;
      suppressed = quota.suppressed;
      quota = {now, 1, 0};
    }
    emit(static_cast<LogKind>(at), {}, suppressed);
  }
}

void Log::emit(LogKind kind, std::initializer_list<LogField> fields, std::int64_t suppressed) {
  try {
    logger_->log(level_of(kind_of(kind).level), "{}", line(kind, fields, suppressed));
  } catch (const std::bad_alloc&) {  // the line is lost
  }
}

std::string Log::line(LogKind kind, std::initializer_list<LogField> fields,
                      std::int64_t suppressed) const {
  std::string line = options_.format == LogFormat::json ? "\"event\":\"" : "";
  line += kind_of(kind).words;
  if (options_.format == LogFormat::json) line += '"';
  for (const LogField& field : fields) append(line, field, options_.format);
  if (suppressed > 0) append(line, {"suppressed", suppressed}, options_.format);
  return line;
}

}  // namespace weir::server
