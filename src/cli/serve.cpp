#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "cli/input.hpp"
#include "cli/server_verbs.hpp"
#include "cli/store_options.hpp"
#include "cli/tls_options.hpp"
#include "server/server.hpp"

namespace weir::cli {
namespace {

constexpr std::string_view help =
    R"(A limiter for Redis clients, for HTTP and its proxies, and for Envoy over gRPC.

Examples:
  weir serve --rate '100/s per ip'
  weir serve --rules rules.yaml --limit login='5/1m burst 2 & 100/1d'

Usage: weir serve [OPTION...]

  --resp ADDRESS         for Redis clients (127.0.0.1:7379); may be repeated:
                         HOST:PORT (0: a free one), tls:HOST:PORT, unix:PATH
  --http ADDRESS         for HTTP/1.1 (127.0.0.1:7380), as --resp; or "off"
  --grpc ADDRESS         for gRPC (127.0.0.1:7381), as --resp; or "off"
  --metrics HOST:PORT    /metrics, /livez, /readyz (127.0.0.1:7390), or "off"
  --rules PATH           rules for calls: a file, or a folder; may be repeated
  --rate RATE            one rule without a file, as '100/s per ip'
  --limit NAME=LIMIT     names a limit for WEIR.TAKE key @NAME; may be repeated
  --password-file FILE   Redis clients must show the password in it
  --admin-token FILE     who shows the secret in it may use /v1/admin/ of HTTP
  --help-tls             which certificates tls: addresses show and trust
  --threads N            worker threads, 1 to 1024 (one for each processor)
  --store URL            states lie in a Redis that servers share: redis://HOST
  --help-store           how it is reached, and what holds while it is gone
  --help-states          how many states are kept, and what outlives the server
  --help-limits          what one client may make the server hold, and how long
  --log-format FORMAT    of lines on standard error: text (unless said), json
  --log-level LEVEL      info (unless said), warning, error or off

Listens on this machine alone unless told otherwise. SIGHUP reads rules and
secrets again. SIGTERM or Ctrl-C answers what has arrived and ends.
Exit codes: 0 stopped when asked; 2 bad usage, input, address or file.
)";

/// An option on the states that the server keeps, and its line of help.
struct StateOption {
  const char* name;
  const char* value;
  const char* text;
};
constexpr StateOption max_keys{"--max-keys", "N", "states kept (1M); then new keys share them"};
constexpr StateOption max_memory{"--max-memory", "BYTES", "for states; then new keys share them"};
constexpr StateOption snapshot_file{"--snapshot", "FILE", "states outlive the server in it"};
constexpr StateOption snapshot_every{"--snapshot-every", "DURATION",
                                     "how often it is written (1m)"};

struct Settings {
  std::vector<std::string> resp;
  std::vector<std::string> http;
  std::vector<std::string> grpc;
  std::string metrics;
  std::vector<std::string> limits;
  std::string threads;
  std::string max_keys;
  std::string max_memory;
  server::SnapshotOptions snapshot;
  std::string snapshot_every;
  bool help_states = false;
  std::string password_file;
  std::string admin_token_file;
  server::TlsFileNames tls;
  bool help_tls = false;
  std::map<std::string, std::string> client_limits;  ///< by option
  bool help_limits = false;
  server::RuleOptions rules;
  StoreSettings store;
  bool help_store = false;
  std::string log_format;
  std::string log_level;
};

/// An option on what clients may do: a size or a time, and its line of help.
struct ClientLimit {
  const char* name;
  const char* text;
  std::size_t* size = nullptr;
  std::chrono::seconds* time = nullptr;
};

std::vector<ClientLimit> client_limits(server::ConnectionLimits& limits) {
  return {
      {"--max-connections", "clients at once", &limits.connections},
      {"--max-connections-per-address", "of one IPv4 address or IPv6 /64",
       &limits.connections_per_address},
      {"--max-pipeline", "commands before others get their turn", &limits.pipeline},
      {"--max-key-bytes", "of a key", &limits.key_bytes},
      {"--max-arguments", "of a command, its name included", &limits.request.arguments},
      {"--max-argument-bytes", "of an argument", &limits.request.argument_bytes},
      {"--max-frame-bytes", "of a framed command", &limits.request.frame_bytes},
      {"--max-inline-bytes", "of a command typed as a line", &limits.request.inline_bytes},
      {"--max-output-bytes", "of replies before no more is read", &limits.output_bytes},
      {"--max-http-head-bytes", "of an HTTP request line and its fields", &limits.http.head_bytes},
      {"--max-http-body-bytes", "of an HTTP body", &limits.http.body_bytes},
      {"--max-http-requests", "on one HTTP connection", &limits.http.requests},
      {"--auth-timeout", "from arrival to handshake and password", nullptr,
       &limits.unauthenticated},
      {"--command-timeout", "until a command that began is whole", nullptr, &limits.partial_frame},
      {"--http-head-timeout", "until an HTTP head that began is whole", nullptr,
       &limits.http.head_time},
      {"--http-body-timeout", "from there until its body is", nullptr, &limits.http.body_time},
      {"--http-idle-timeout", "between HTTP requests", nullptr, &limits.http.idle_time},
      {"--write-timeout", "until a reader that stopped goes on", nullptr, &limits.stalled_write},
      {"--drain-timeout", "from SIGTERM to the end", nullptr, &limits.drain},
  };
}

/// What the limit is unless it is said.
std::string usual(const ClientLimit& limit) {
  return limit.size ? std::to_string(*limit.size) : std::to_string(limit.time->count()) + "s";
}

std::string line_of_help(std::string option, const std::string& text) {
  option.resize(35, ' ');
  return option + text + '\n';
}

std::string limits_help() {
  std::string page = R"(What clients of weir serve may make it hold, and for how long.

Examples:
  weir serve --max-connections 20k --max-connections-per-address 100
  weir serve --max-pipeline 128 --write-timeout 3s

Usage: weir serve [OPTION...]

)";
  server::ConnectionLimits limits;
  for (const ClientLimit& limit : client_limits(limits)) {
    page += line_of_help(std::string("  ") + limit.name + (limit.size ? " N" : " DURATION"),
                         std::string(limit.text) + " (" + usual(limit) + ")");
  }
  return page + R"(
Durations are whole seconds. weir_limit_hits_total in /metrics counts, for each
option, how often clients met it.
)";
}

std::string states_help() {
  std::string page = R"(The states of weir serve: one for each key and limit that is in use.

Examples:
  weir serve --max-keys 10M --max-memory 2000M
  weir serve --snapshot /var/lib/weir/states --snapshot-every 30s

Usage: weir serve [OPTION...]

)";
  for (const StateOption& option : {max_keys, max_memory, snapshot_file, snapshot_every}) {
    page += line_of_help(std::string("  ") + option.name + ' ' + option.value, option.text);
  }
  return page + R"(
Keys that share states may be refused for one another, and are never let through
beyond their limit. The snapshot is read at the start and written at the end.
)";
}

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

std::optional<InputError> read_seconds(const char* name, const std::string& text,
                                       std::chrono::seconds& time) {
  if (text.empty()) return {};
  const auto span = read_span({.name = name, .text = text});
  if (!span) return span.error();
  time = std::chrono::duration_cast<std::chrono::seconds>(*span);
  if (time.count() == 0 || time != *span) {
    return InputError{std::string(name) + " must be whole seconds, such as 5s", text, 0};
  }
  return {};
}

std::optional<InputError> read_client_limits(const Settings& settings,
                                             server::ConnectionLimits& limits) {
  for (const ClientLimit& limit : client_limits(limits)) {
    const std::string& text = settings.client_limits.at(limit.name);
    auto error = limit.size ? read_size({.name = limit.name, .text = text}, *limit.size)
                            : read_seconds(limit.name, text, *limit.time);
    if (error) return error;
  }
  return {};
}

std::optional<InputError> read_memory(const Settings& settings, server::Options& options) {
  if (settings.max_memory.empty()) return {};
  const auto bytes =
      read_count({.name = "--max-memory", .text = settings.max_memory}, {.least = 1'000'000});
  if (!bytes) return bytes.error();
  options.max_memory = static_cast<std::size_t>(*bytes);
  return {};
}

std::optional<InputError> read_snapshot(const Settings& settings, server::Options& options) {
  options.snapshot = settings.snapshot;
  if (settings.snapshot_every.empty()) return {};
  if (options.snapshot.path.empty()) {
    return InputError{"--snapshot-every needs --snapshot FILE"};
  }
  return read_seconds("--snapshot-every", settings.snapshot_every, options.snapshot.every);
}

/// The usual one, unless others are said, or "off".
void read_addresses(const std::vector<std::string>& said, std::string_view usual_one,
                    std::vector<std::string>& addresses) {
  addresses = said;
  if (said.empty()) addresses.emplace_back(usual_one);
  std::erase(addresses, "off");
}

template <typename Value>
struct Choice {
  std::string_view word;
  Value value;
};

constexpr std::array<Choice<server::LogFormat>, 2> log_formats{
    {{"text", server::LogFormat::text}, {"json", server::LogFormat::json}}};
constexpr std::array<Choice<server::LogLevel>, 4> log_levels{
    {{"info", server::LogLevel::info},
     {"warning", server::LogLevel::warning},
     {"error", server::LogLevel::error},
     {"off", server::LogLevel::off}}};

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
  read_addresses(settings.http, "127.0.0.1:7380", options.http);
  read_addresses(settings.grpc, "127.0.0.1:7381", options.grpc);
  options.rules = settings.rules;
  if (!settings.metrics.empty()) options.metrics = settings.metrics;
  for (const auto& [name, text, size] :
       {std::tuple{"--threads", &settings.threads, &options.threads},
        std::tuple{"--max-keys", &settings.max_keys, &options.max_keys}}) {
    if (auto error = read_size({.name = name, .text = *text}, *size)) return error;
  }
  if (options.threads > 1024)
    return InputError{"--threads may be at most 1024", settings.threads, 0};
  if (auto error = read_memory(settings, options)) return error;
  if (auto error = read_snapshot(settings, options)) return error;
  if (auto error = read_store(settings.store, options)) return error;
  if (auto error = read_client_limits(settings, options.limits)) return error;
  if (auto error = read_tls(settings.tls, options)) return error;
  options.password_file = settings.password_file;
  options.admin_token_file = settings.admin_token_file;
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

/// How one asks there by hand.
std::string redis_cli(const server::Address& address, const Settings& settings) {
  std::string command = "redis-cli ";
  if (address.kind == server::Address::Kind::unix_socket) {
    command += "-s " + address.path;
  } else {
    command += "-p " + std::to_string(address.port);
  }
  if (address.kind == server::Address::Kind::tls) command += " --tls --cacert CA.pem";
  if (!settings.password_file.empty()) command += " --askpass";
  return command;
}

void say_where(const std::vector<server::Server::Listening>& listening, const Settings& settings,
               std::ostream& out) {
  out << "weir " WEIR_VERSION "\n";
  for (const auto& each : listening) {
    out << each.what << ' ' << print(each.address) << '\n';
  }
  const std::string ask = redis_cli(listening.front().address, settings);
  out << "\nTry:\n  " << ask << " CL.THROTTLE alice 15 30 60\n  " << ask << " WEIR.TAKE alice ";
  if (settings.limits.empty()) {
    out << "'5/1m burst 2'\n";
  } else {
    out << '@' << settings.limits.front().substr(0, settings.limits.front().find('=')) << '\n';
  }
  for (const auto& each : listening) {
    if (each.what == "http" && each.address.kind == server::Address::Kind::tcp) {
      out << "  curl 'http://" << print(each.address) << "/v1/check?key=alice&limit=5/1m'\n";
    }
    if (each.what == "http" && !settings.rules.rate.empty()) {
      out << "  curl -i -H 'X-Forwarded-For: 192.0.2.1' 'http://" << print(each.address)
          << "/v1/forward'\n";
    }
    if (each.what == "metrics") out << "  curl http://" << print(each.address) << "/metrics\n";
  }
  out << "Ctrl-C stops it.\n" << std::flush;
}

ExitCode serve(const Settings& settings, const Console& console) {
  if (settings.help_limits) {
    console.out << limits_help();
    return ExitCode::ok;
  }
  if (settings.help_states) {
    console.out << states_help();
    return ExitCode::ok;
  }
  if (settings.help_store) {
    console.out << store_help();
    return ExitCode::ok;
  }
  if (settings.help_tls) {
    console.out << tls_help();
    return ExitCode::ok;
  }
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
  command->add_option("--resp", settings->resp)->allow_extra_args(false);
  command->add_option("--http", settings->http)->allow_extra_args(false);
  command->add_option("--grpc", settings->grpc)->allow_extra_args(false);
  command->add_option("--rules", settings->rules.files)->type_name("PATH")->allow_extra_args(false);
  command->add_option("--rate", settings->rules.rate)->check([](const std::string& text) {
    return text.empty() ? "a rate is empty; expected one, as '100/s per ip'" : "";
  });
  command->add_option("--metrics", settings->metrics);
  command->add_option("--limit", settings->limits)->allow_extra_args(false);
  command->add_option("--threads", settings->threads);
  for (const auto& [option, text] :
       {std::pair{max_keys, &settings->max_keys}, std::pair{max_memory, &settings->max_memory},
        std::pair{snapshot_file, &settings->snapshot.path},
        std::pair{snapshot_every, &settings->snapshot_every}}) {
    command->add_option(option.name, *text, option.text)->type_name(option.value);
  }
  command->add_flag("--help-states", settings->help_states);
  command->add_option("--password-file", settings->password_file)->type_name("FILE");
  command->add_option("--admin-token", settings->admin_token_file)->type_name("FILE");
  add_tls_options(*command, settings->tls);
  command->add_flag("--help-tls", settings->help_tls);
  command->add_flag("--help-limits", settings->help_limits);
  add_store_options(*command, settings->store);
  command->add_flag("--help-store", settings->help_store);
  server::ConnectionLimits names;
  for (const ClientLimit& limit : client_limits(names)) {
    command
        ->add_option(limit.name, settings->client_limits[limit.name],
                     std::string(limit.text) + " (" + usual(limit) + ")")
        ->type_name(limit.size ? "N" : "DURATION");
  }
  command->add_option("--log-format", settings->log_format)->type_name("text|json");
  command->add_option("--log-level", settings->log_level)->type_name("info|warning|error|off");
  return {command, help, "weir serve --limit login='5/1m'",
          [settings](const Console& console) { return serve(*settings, console); }};
}

}  // namespace weir::cli
