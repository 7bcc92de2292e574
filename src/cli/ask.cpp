// The verbs take, peek and reset.
#include <memory>
#include <ostream>

#include "cli/input.hpp"
#include "cli/remote.hpp"
#include "cli/server_verbs.hpp"
#include "wire/json.hpp"

namespace weir::cli {
namespace {

constexpr std::string_view take_help =
    R"(Takes from a key of a running server, and tells what it decided.

Examples:
  weir take alice 5/1m
  weir take alice @login --cost 2
  weir take job 'leaky-bucket 10/s queue 50' --patience 2s && ./job

Usage: weir take KEY LIMIT [OPTION...]

  --cost N             how much to take (1)
  --patience DURATION  how long the caller would wait (the limit's own)
  --server ADDRESS     HOST:PORT (127.0.0.1:7379), tls:HOST:PORT or unix:PATH
  --password-file FILE the server's password
  --tls-ca FILE        PEM: whom to trust (whom this machine trusts)
  --tls-cert FILE      PEM: a certificate to show
  --tls-key FILE       PEM: its key
  --json               the answer as a JSON object

LIMIT is a limit's text, or @NAME of one that the server has a name for.
Exit codes: 0 granted or deferred; 1 denied or impossible; 2 bad usage or input;
3 the server cannot be reached.
)";

constexpr std::string_view peek_help = R"(Tells what take would answer, and takes nothing.

Examples:
  weir peek alice 5/1m
  weir peek alice @login --cost 2 --json

Usage: weir peek KEY LIMIT [OPTION...]

  --cost N             how much to ask for (1)
  --server ADDRESS     HOST:PORT (127.0.0.1:7379), tls:HOST:PORT or unix:PATH
  --password-file FILE the server's password
  --tls-ca FILE        PEM: whom to trust (whom this machine trusts)
  --tls-cert FILE      PEM: a certificate to show
  --tls-key FILE       PEM: its key
  --json               the answer as a JSON object

Exit codes: 0 it would be taken; 1 it would be refused; 2 bad usage or input;
3 the server cannot be reached.
)";

constexpr std::string_view reset_help = R"(Forgets what a key has used of a limit.

Examples:
  weir reset alice 5/1m
  weir reset alice @login

Usage: weir reset KEY LIMIT [OPTION...]

  --server ADDRESS     HOST:PORT (127.0.0.1:7379), tls:HOST:PORT or unix:PATH
  --password-file FILE the server's password
  --tls-ca FILE        PEM: whom to trust (whom this machine trusts)
  --tls-cert FILE      PEM: a certificate to show
  --tls-key FILE       PEM: its key
  --json               {"forgotten":true} or false

Exit codes: 0 forgotten, or there was nothing to forget; 2 bad usage or input;
3 the server cannot be reached.
)";

struct Question {
  std::string key;
  std::vector<std::string> limit;
  std::string cost;
  std::string patience;
  Remote remote;
  bool json = false;
};

/// The server's reply; nothing once the trouble is reported, with the exit code in `trouble`.
std::optional<wire::Reply> answer(const Question& question, std::string_view verb,
                                  const std::vector<std::string>& options, const Console& console,
                                  ExitCode& trouble) {
  trouble = ExitCode::bad_input;
  if (question.limit.empty()) {
    report(console.err, {"needs a key and a limit, as in: weir take alice 5/1m"});
    return {};
  }
  std::string limit = question.limit.front();
  if (!limit.starts_with('@') || question.limit.size() > 1) {
    const auto read = read_limit(question.limit);
    if (!read) {
      report(console.err, read.error());
      return {};
    }
    limit = read->text();
  }
  std::vector<std::string_view> command{verb, question.key, limit};
  command.insert(command.end(), options.begin(), options.end());
  auto reply = ask(question.remote, command);
  if (!reply) {
    trouble = reply.error().code;
    report(console.err, {reply.error().message});
    return {};
  }
  if (reply->type == wire::ReplyType::error) {
    report(console.err, {said_by_server(*reply).message});
    return {};
  }
  return std::move(reply).value();
}

/// The options for the wire; nothing once the trouble is reported.
std::optional<std::vector<std::string>> wire_options(const Question& question,
                                                     const Console& console) {
  std::vector<std::string> options;
  const auto fail = [&](const InputError& error) {
    report(console.err, error);
    return std::nullopt;
  };
  if (!question.cost.empty()) {
    const auto cost = read_count({.name = "--cost", .text = question.cost}, {.least = 0});
    if (!cost) return fail(cost.error());
    options.insert(options.end(), {"COST", std::to_string(*cost)});
  }
  if (!question.patience.empty()) {
    const auto patience = read_span({.name = "--patience", .text = question.patience});
    if (!patience) return fail(patience.error());
    if (patience->count() % 1000 != 0) {
      return fail({"--patience must be whole milliseconds", question.patience, 0});
    }
    options.insert(options.end(), {"PATIENCE", std::to_string(patience->count() / 1000)});
  }
  return options;
}

/// For people: rounded up to milliseconds, from a second on to tenths.
std::string about(std::int64_t us) {
  const std::int64_t ms = (us + 999) / 1000;
  if (ms < 1000) return std::to_string(ms) + "ms";
  const std::int64_t tenths = (ms + 99) / 100;
  return std::to_string(tenths / 10) + (tenths % 10 ? "." + std::to_string(tenths % 10) : "") + "s";
}

void show(const wire::Reply& reply, const Question& question, const Console& console) {
  const auto number = [&](std::string_view name) {
    const wire::Reply* field = reply.field(name);
    return field ? field->integer : 0;
  };
  const wire::Reply* verdict = reply.field("verdict");
  const std::string said = verdict ? verdict->text : "";
  if (question.json) {
    wire::Json json = wire::Json::object();
    json.member("verdict", said);
    for (const char* name :
         {"limit", "remaining", "retry_after_us", "ready_after_us", "reset_after_us"}) {
      json.member(name, number(name));
    }
    const wire::Reply* grant = reply.field("grant");
    if (grant && grant->type == wire::ReplyType::bulk) json.member("grant", grant->text);
    console.out << json.text() << '\n';
    return;
  }
  console.out << said;
  if (number("ready_after_us") > 0) {
    console.out << ": act in " << about(number("ready_after_us"));
  }
  if (number("retry_after_us") > 0) {
    console.out << ": try again in " << about(number("retry_after_us"));
  }
  if (said == "impossible") console.out << ": the cost is above the limit's capacity";
  console.out << "; " << number("remaining") << " of " << number("limit") << " left";
  if (number("reset_after_us") > 0) {
    console.out << ", all again in " << about(number("reset_after_us"));
  }
  console.out << '\n';
}

ExitCode decide(const Question& question, std::string_view verb, const Console& console) {
  const auto options = wire_options(question, console);
  if (!options) return ExitCode::bad_input;
  ExitCode trouble = ExitCode::ok;
  const auto reply = answer(question, verb, *options, console, trouble);
  if (!reply) return trouble;
  show(*reply, question, console);
  const wire::Reply* verdict = reply->field("verdict");
  const bool yes = verdict && (verdict->text == "granted" || verdict->text == "deferred");
  return yes ? ExitCode::ok : ExitCode::refused;
}

ExitCode reset(const Question& question, const Console& console) {
  ExitCode trouble = ExitCode::ok;
  const auto reply = answer(question, "WEIR.RESET", {}, console, trouble);
  if (!reply) return trouble;
  const bool forgotten = reply->integer == 1;
  if (question.json) {
    console.out << wire::Json::object().member("forgotten", forgotten).text() << '\n';
  } else {
    console.out << (forgotten ? "forgotten\n" : "nothing was kept of this key\n");
  }
  return ExitCode::ok;
}

CLI::App* add(CLI::App& weir, const char* name, const char* description, Question& question) {
  CLI::App* command = weir.add_subcommand(name, description);
  command->add_option("key", question.key);
  command->add_option("limit", question.limit);
  add_options(*command, question.remote);
  command->add_flag("--json", question.json);
  return command;
}

}  // namespace

Verb add_take(CLI::App& weir) {
  const auto question = std::make_shared<Question>();
  CLI::App* command = add(weir, "take", "takes from a key of a running server", *question);
  command->add_option("--cost", question->cost);
  command->add_option("--patience", question->patience);
  return {command, take_help, "weir take alice 5/1m",
          [question](const Console& console) { return decide(*question, "WEIR.TAKE", console); }};
}

Verb add_peek(CLI::App& weir) {
  const auto question = std::make_shared<Question>();
  CLI::App* command = add(weir, "peek", "what take would answer", *question);
  command->group(also);
  command->add_option("--cost", question->cost);
  return {command, peek_help, "",
          [question](const Console& console) { return decide(*question, "WEIR.PEEK", console); }};
}

Verb add_reset(CLI::App& weir) {
  const auto question = std::make_shared<Question>();
  CLI::App* command = add(weir, "reset", "forgets what a key has used", *question);
  command->group(also);
  return {command, reset_help, "",
          [question](const Console& console) { return reset(*question, console); }};
}

}  // namespace weir::cli
