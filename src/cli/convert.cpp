#include <cerrno>
#include <fstream>
#include <memory>
#include <ostream>
#include <system_error>

#include "cli/conversion.hpp"
#include "cli/input.hpp"
#include "cli/verbs.hpp"

namespace weir::cli {
namespace {

constexpr std::string_view help = R"(Another limiter's file as a rule file, on standard output.

Examples:
  weir convert --from envoy-ratelimit config.yaml > rules.yaml
  weir convert --from nginx /etc/nginx/nginx.conf
  weir convert --from limitador limits.yaml --domain shop

Usage: weir convert --from FORMAT FILE [--domain NAME]

  --from FORMAT  envoy-ratelimit, limitador or nginx (its limit_req)
  --domain NAME  which namespace of limitador's, where the file has several

weir serve reads envoyproxy/ratelimit's files as they are, too. What cannot be
said in a rule stands in a comment: # not converted: line N: what.
Exit codes: 0 all is converted; 1 not all; 2 bad usage, or a file that is none.
)";

constexpr std::streamsize longest_file = std::streamsize{16} << 20;

struct Options {
  std::string from;
  std::string file;
  std::string domain;
};

Expected<std::string, InputError> text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return InputError{printable(path) + ": " + std::generic_category().message(errno)};
  }
  std::string text(static_cast<std::size_t>(longest_file) + 1, '\0');
  file.read(text.data(), longest_file + 1);
  if (file.bad()) return InputError{printable(path) + ": cannot be read"};
  if (file.gcount() > longest_file) return InputError{printable(path) + ": longer than 16 MiB"};
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

ExitCode convert(const Options& options, const Console& console) {
  const bool envoy = options.from == "envoy-ratelimit";
  const bool limitador = options.from == "limitador";
  if (!envoy && !limitador && options.from != "nginx") {
    report(console.err, {"--from '" + printable(options.from) +
                         "': expected envoy-ratelimit, limitador or nginx"});
    return ExitCode::bad_input;
  }
  if (options.file.empty()) {
    report(console.err, {"convert needs a file, as in: weir convert --from nginx nginx.conf"});
    return ExitCode::bad_input;
  }
  if (!limitador && !options.domain.empty()) {
    report(console.err, {"--domain is for limitador's files, which have several"});
    return ExitCode::bad_input;
  }
  const auto text = text_of_file(options.file);
  if (!text) {
    report(console.err, text.error());
    return ExitCode::bad_input;
  }
  const auto made = envoy       ? convert_envoy(*text)
                    : limitador ? convert_limitador(*text, options.domain)
                                : convert_nginx(*text);
  if (!made) {
    console.err << gateway::told(options.file, made.error()) << '\n';
    return ExitCode::bad_input;
  }
  console.out << print(*made);
  return made->left_out.empty() ? ExitCode::ok : ExitCode::refused;
}

}  // namespace

Verb add_convert(CLI::App& weir) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = weir.add_subcommand("convert", "another limiter's file as a rule file");
  command->group(also);
  command->add_option("--from", options->from)->type_name("envoy-ratelimit|limitador|nginx");
  command->add_option("file", options->file)->type_name("FILE");
  command->add_option("--domain", options->domain);
  return {command, help, "",
          [options](const Console& console) { return convert(*options, console); }};
}

}  // namespace weir::cli
