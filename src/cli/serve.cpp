#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <ostream>
#include <thread>
#include <tuple>
#include <vector>

#include "cli/input.hpp"
#include "cli/server_verbs.hpp"
#include "server/server.hpp"

namespace weir::cli {
namespace {

constexpr std::string_view help =
    R"(A limiter that any Redis client can use: CL.THROTTLE and the WEIR commands.

Examples:
  weir serve
  weir serve --limit login='5/1m' --limit api='100/s burst 200 & 10k/1d'
  weir serve --resp 127.0.0.1:7400 --threads 4 --max-keys 10M

Usage: weir serve [OPTION...]

  --resp HOST:PORT       for Redis clients (127.0.0.1:7379); port 0: a free one
  --metrics HOST:PORT    /metrics, /livez, /readyz (127.0.0.1:7390), or "off"
  --limit NAME=LIMIT     names a limit for WEIR.TAKE key @NAME; may be repeated
  --threads N            worker threads, 1 to 1024 (one for each processor)
  --max-keys N           states kept (1M); above it, new keys share states
  --max-connections N    clients at once (10k)
  --log-format FORMAT    of lines on standard error: text (unless said), json
  --log-level LEVEL      info (unless said), warning, error or off

Listens on this machine alone unless told otherwise: there is no password yet.
SIGTERM or Ctrl-C answers what has arrived, closes and ends; twice: at once.
Exit codes: 0 stopped when asked; 2 bad usage, input or address.
)";

struct Settings {
  std::string resp;
  std::string metrics;
  std::vector<std::string> limits;
  std::string threads;
  std::string max_keys;
  std::string max_connections;
  std::string log_format;
  std::string log_level;
};

/// NAME=LIMIT.
std::optional<InputError> add_limit(Rules& rules, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) {
    return InputError{"--limit expects NAME=LIMIT, as in --limit login='5/1m'", text, text.size()};
  }
  const std::string_view name = std::string_view(text).substr(0, equals);
  const std::string_view limit = std::string_view(text).substr(equals + 1);
  const auto parsed = Limit::parse(limit);
  const auto added = rules.add({name, limit});
  if (added) return {};
  // The limit's columns begin behind the '='; what is wrong with a name is at the start.
  const std::size_t at = parsed ? 0 : equals + added.error().column;
  return InputError{"--limit: " + added.error().message, text, at};
}

/// A number for a size, or what it is already.
std::optional<InputError> read_size(const char* name, const std::string& text, std::size_t& size) {
  if (text.empty()) return {};
  const auto count = read_count({.name = name, .text = text}, {.least = 1});
  if (!count) return count.error();
  size = static_cast<std::size_t>(*count);
  return {};
}

template <typename Value>
struct Choice {
  std::string_view word;
  Value value;
};

constexpr std::array log_formats{Choice{"text", server::LogFormat::text},
                                 Choice{"json", server::LogFormat::json}};
constexpr std::array log_levels{
    Choice{"info", server::LogLevel::info}, Choice{"warning", server::LogLevel::warning},
    Choice{"error", server::LogLevel::error}, Choice{"off", server::LogLevel::off}};

/// One of a few words, or what it is already.
template <typename Choices, typename Value>
std::optional<InputError> read_choice(const Input& input, const Choices& choices, Value& value) {
  if (input.text.empty()) return {};
  std::string words;
  for (const auto& choice : choices) {
    if (choice.word == input.text) {
      value = choice.value;
      return {};
    }
    words += (words.empty() ? "" : ", ") + std::string(choice.word);
  }
  return InputError{std::string(input.name) + " expects one of: " + words, std::string(input.text),
                    0};
}

std::optional<InputError> read_options(const Settings& settings, Rules& rules,
                                       server::Options& options) {
  options.threads = std::max(1U, std::thread::hardware_concurrency());
  if (!settings.resp.empty()) options.resp = settings.resp;
  if (!settings.metrics.empty()) options.metrics = settings.metrics;
  for (const auto& [name, text, size] :
       {std::tuple{"--threads", &settings.threads, &options.threads},
        std::tuple{"--max-keys", &settings.max_keys, &options.max_keys},
        std::tuple{"--max-connections", &settings.max_connections, &options.limits.connections}}) {
    if (auto error = read_size(name, *text, *size)) return error;
  }
  if (options.threads > 1024)
    return InputError{"--threads may be at most 1024", settings.threads, 0};
  if (auto error = read_choice({.name = "--log-format", .text = settings.log_format}, log_formats,
                               options.log.format)) {
    return error;
  }
  if (auto error = read_choice({.name = "--log-level", .text = settings.log_level}, log_levels,
                               options.log.level)) {
    return error;
  }
  for (const std::string& limit : settings.limits) {
    if (auto error = add_limit(rules, limit)) return error;
  }
  return {};
}

void say_where(const std::vector<server::Server::Listening>& listening, const Settings& settings,
               std::ostream& out) {
  out << "weir " WEIR_VERSION "\n";
  for (const auto& each : listening) out << each.what << ' ' << each.address << '\n';
  const auto port = [](const std::string& address) {
    return address.substr(address.rfind(':') + 1);
  };
  const std::string resp = port(listening.front().address);
  out << "\nTry:\n  redis-cli -p " << resp << " CL.THROTTLE alice 15 30 60\n"
      << "  redis-cli -p " << resp << " WEIR.TAKE alice ";
  if (settings.limits.empty()) {
    out << "'5/1m burst 2'\n";
  } else {
    out << '@' << settings.limits.front().substr(0, settings.limits.front().find('=')) << '\n';
  }
  if (listening.size() > 1) out << "  curl http://" << listening[1].address << "/metrics\n";
  out << "Ctrl-C stops it.\n" << std::flush;
}

ExitCode serve(const Settings& settings, const Console& console) {
  Rules rules;
  server::Options options;
  if (const auto error = read_options(settings, rules, options)) {
    report(console.err, *error);
    return ExitCode::bad_input;
  }
  server::Server server(options, rules);
  const auto listening = server.listen();
  if (!listening) {
    report(console.err, {listening.error().message});
    return ExitCode::bad_input;
  }
  say_where(*listening, settings, console.out);
  server.run();
  return ExitCode::ok;
}

}  // namespace

Verb add_serve(CLI::App& weir) {
  const auto settings = std::make_shared<Settings>();
  CLI::App* command = weir.add_subcommand("serve", "a limiter that any Redis client can use");
  command->add_option("--resp", settings->resp);
  command->add_option("--metrics", settings->metrics);
  command->add_option("--limit", settings->limits)->allow_extra_args(false);
  command->add_option("--threads", settings->threads);
  command->add_option("--max-keys", settings->max_keys);
  command->add_option("--max-connections", settings->max_connections);
  command->add_option("--log-format", settings->log_format)->type_name("text|json");
  command->add_option("--log-level", settings->log_level)->type_name("info|warning|error|off");
  return {command, help, "weir serve --limit login='5/1m'",
          [settings](const Console& console) { return serve(*settings, console); }};
}

}  // namespace weir::cli
