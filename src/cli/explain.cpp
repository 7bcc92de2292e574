#include <algorithm>
#include <filesystem>
#include <memory>
#include <ostream>
#include <system_error>

#include "cli/explanation.hpp"
#include "cli/input.hpp"
#include "cli/rule_explanation.hpp"
#include "cli/rule_report.hpp"
#include "cli/verbs.hpp"
#include "gateway/rule_files.hpp"
#include "weir/duration.hpp"
#include "wire/json.hpp"

namespace weir::cli {
namespace {

constexpr std::string_view help =
    R"(What a limit promises, or which rules of a file a call meets.

Examples:
  weir explain 5/1m burst 2
  weir explain '10/s & 1000/1d' --json
  weir explain rules.yaml --method POST --uri /login --ip 1.2.3.4
  weir explain envoy.yaml tenant=t1 plan=gold

Usage: weir explain LIMIT [--json]
       weir explain FILE [OPTION...] [KEY=VALUE...]

  --json            one JSON object
  --domain NAME     whose rules, where a folder has several
  --method NAME     what the call says of itself, here and below
  --uri PATH        without its query
  --host NAME       as a client asks for
  --ip ADDRESS      the client's
  --user NAME       who it is
  --header N=V      a header; may be repeated

KEY=VALUE are a descriptor's entries; nothing is counted. LIMIT: weir --help.
Exit codes: 0 explained; 2 bad usage or input.
)";

struct Options {
  std::vector<std::string> words;
  CallWords call;
  bool json = false;
};

struct Paragraph {
  std::string_view text;
  std::size_t columns;
};

/// Each line indented by two.
std::string wrapped(const Paragraph& paragraph) {
  std::string lines;
  std::string line = " ";
  std::string_view rest = paragraph.text;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    if (line.size() + 1 + word.size() > paragraph.columns) {
      lines += line + "\n";
      line = " ";
    }
    line += ' ';
    line += word;
  }
  return lines + line + "\n";
}

std::string right_aligned(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

std::string table(const std::vector<BoundRow>& rows) {
  std::string text = "  within any      at most\n";
  for (const BoundRow& row : rows) {
    std::string length = row.length == Span{1} ? "instant" : print_duration(row.length);
    length.resize(std::max<std::size_t>(length.size(), 10), ' ');
    text += "  " + length + right_aligned(std::to_string(row.most), 13) + "\n";
  }
  return text;
}

void explain_in_words(const Limit& limit, const Console& console) {
  console.out << limit.text() << "\n\n";
  for (const LimitTerm& term : limit.terms()) {
    std::string text;
    for (const std::string& sentence : sentences_on(term)) {
      text += (text.empty() ? "" : " ") + sentence;
    }
    console.out << wrapped({text, console.screen.columns}) << "\n";
  }
  if (limit.terms().size() > 1) {
    console.out << wrapped({"All of these must agree; a call that one of them refuses is charged "
                            "to none.",
                            console.screen.columns})
                << "\n";
  }
  const Rate rate = sustained_rate(limit);
  console.out << table(bound_table(limit)) << "  A call of cost n counts as n.\n"
              << "\n  sustained   " << rate.count << " each " << print_duration(rate.period)
              << "\n  memory      at most " << limit.largest_state_bytes()
              << " bytes a key, beside its name\n";
}

wire::Json terms_as_json(const Limit& limit) {
  wire::Json terms = wire::Json::array();
  for (const LimitTerm& term : limit.terms()) {
    wire::Json object = wire::Json::object();
    object.member("algorithm", name(term.algorithm))
        .member("count", term.count)
        .member("period_us", term.period.count());
    using enum LimitTerm::Algorithm;
    if (term.algorithm == token_bucket) {
      object.member("burst", term.burst).member("initial", term.initial);
    }
    if (term.algorithm == leaky_bucket) object.member("queue", term.queue);
    if (term.algorithm == sliding_window) object.member("parts", term.parts);
    if (term.algorithm == calendar_window) {
      object.member("unit", name(term.unit)).member("zone", term.zone);
    }
    if (term.block != Span{0}) object.member("block_us", term.block.count());
    wire::Json sentences = wire::Json::array();
    for (const std::string& sentence : sentences_on(term)) sentences.element(sentence);
    terms.element(object.member("sentences", sentences));
  }
  return terms;
}

void explain_as_json(const Limit& limit, std::ostream& out) {
  wire::Json bound = wire::Json::array();
  for (const BoundRow& row : bound_table(limit)) {
    bound.element(
        wire::Json::object().member("window_us", row.length.count()).member("most", row.most));
  }
  const Rate rate = sustained_rate(limit);
  out << wire::Json::object()
             .member("limit", limit.text())
             .member("terms", terms_as_json(limit))
             .member("bound", bound)
             .member("sustained", wire::Json::object()
                                      .member("count", rate.count)
                                      .member("period_us", rate.period.count()))
             .member("largest_state_bytes", static_cast<std::int64_t>(limit.largest_state_bytes()))
             .member("starts_full", limit.starts_full())
             .text()
      << '\n';
}

/// No limit ends so, or is the name of a file.
bool names_rules(const std::string& word) {
  std::error_code error;
  return word.ends_with(".yaml") || word.ends_with(".yml") || std::filesystem::exists(word, error);
}

ExitCode explain_rules(const Options& options, const Console& console) {
  auto domains = gateway::read_rule_files({options.words.front()});
  if (!domains) {
    report(console.err, {domains.error()});
    return ExitCode::bad_input;
  }
  const gateway::RuleSet rules(std::move(domains).value());
  CallWords call = options.call;
  call.entries.assign(options.words.begin() + 1, options.words.end());
  const auto standing = stand(rules, call);
  if (!standing) {
    report(console.err, standing.error());
    return ExitCode::bad_input;
  }
  if (options.json) {
    report_as_json(*standing, console.out);
  } else {
    report_as_text(*standing, console.out);
  }
  return ExitCode::ok;
}

ExitCode explain(const Options& options, const Console& console) {
  if (options.words.empty()) {
    report(console.err, {"explain needs a limit, as in: weir explain 5/1m burst 2"});
    return ExitCode::bad_input;
  }
  if (names_rules(options.words.front())) return explain_rules(options, console);
  const auto limit = read_limit(options.words);
  if (!limit) {
    report(console.err, limit.error());
    return ExitCode::bad_input;
  }
  if (options.json) {
    explain_as_json(*limit, console.out);
  } else {
    explain_in_words(*limit, console);
  }
  return ExitCode::ok;
}

}  // namespace

Verb add_explain(CLI::App& weir) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = weir.add_subcommand("explain", "what a limit promises, in words and numbers");
  CallWords& call = options->call;
  command->add_option("limit", options->words);
  command->add_option("--domain", call.domain);
  command->add_option("--method", call.method);
  command->add_option("--uri", call.uri);
  command->add_option("--host", call.host);
  command->add_option("--ip", call.ip);
  command->add_option("--user", call.user);
  command->add_option("--header", call.headers)->allow_extra_args(false);
  command->add_flag("--json", options->json);
  return {command, help, "",
          [options](const Console& console) { return explain(*options, console); }};
}

}  // namespace weir::cli
