#include "cli/help_page.hpp"

#include <algorithm>

namespace weir::cli {
namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::string trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
  const std::size_t end = text.find_last_not_of(' ');
  return begin == text.size() ? "" : std::string(text.substr(begin, end + 1 - begin));
}

void append_line(std::string& text, std::string_view line) {
  if (!text.empty()) text += ' ';
  text += trimmed(line);
}

/// "  --cost N   how much": the name and the value end where two blanks begin.
OptionHelp option_in(std::string_view line) {
  line.remove_prefix(2);
  const std::size_t end = std::min(line.find("  "), line.size());
  const std::string_view head = line.substr(0, end);
  const std::size_t blank = std::min(head.find(' '), head.size());
  return {.name = std::string(head.substr(0, blank)),
          .value = trimmed(head.substr(blank)),
          .text = trimmed(line.substr(end))};
}

std::vector<std::string> words_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.find('|') == std::string::npos ? std::vector<std::string>{} : split(type, '|');
}

/// The options that `--help` of the text shows are those that the command has (a test). One that is
/// on another page has its line of help as its description.
void add_types(VerbHelp& help, const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional()) help.words = words_of(*option);
    auto shown = std::find_if(help.options.begin(), help.options.end(),
                              [&](const auto& known) { return option->check_name(known.name); });
    if (shown == help.options.end()) {
      if (option->get_positional() || option == command.get_help_ptr()) continue;
      if (option->get_description().empty()) continue;
      help.options.push_back({.name = option->get_name(),
                              .value = option->get_type_name(),
                              .text = option->get_description()});
      shown = help.options.end() - 1;
    }
    shown->words = words_of(*option);
    shown->names_a_file = option->get_type_name() == "FILE";
    shown->repeats = option->get_items_expected_max() > 1;
  }
}

/// Takes the lines of a page one by one.
class PageReader {
 public:
  explicit PageReader(VerbHelp& help) : help_(help) {}

  void read(const std::string& line) {
    if (line == "Examples:") {
      in_examples_ = true;
    } else if (line.empty()) {
      end_of_paragraph();
    } else if (in_examples_) {
      help_.examples.push_back(trimmed(line));
    } else if (line.starts_with("  --")) {
      help_.options.push_back(option_in(line));
      in_options_ = true;
    } else if (in_options_ && line.starts_with("   ")) {
      append_line(help_.options.back().text, line);
    } else if (line.starts_with("Usage: ")) {
      in_usage_ = true;
      help_.usage.push_back(line.substr(7));
    } else if (in_usage_) {
      help_.usage.push_back(trimmed(line));
    } else if (in_exit_codes_ || line.starts_with("Exit codes: ")) {
      append_line(help_.exit_codes, in_exit_codes_ ? line : line.substr(12));
      in_exit_codes_ = true;
    } else {
      append_line(paragraph_, line);
    }
  }

  void end_of_paragraph() {
    in_examples_ = in_usage_ = in_options_ = false;
    if (paragraph_.empty()) return;
    if (help_.summary.empty()) {
      help_.summary = paragraph_;
    } else {
      help_.notes.push_back(paragraph_);
    }
    paragraph_.clear();
  }

 private:
  VerbHelp& help_;
  std::string paragraph_;
  bool in_examples_ = false;
  bool in_usage_ = false;
  bool in_options_ = false;
  bool in_exit_codes_ = false;
};

}  // namespace

VerbHelp help_of(const CLI::App& command) {
  VerbHelp help;
  help.name = command.get_name();
  help.brief = command.get_description();
  PageReader reader(help);
  for (const std::string& line : split(command.get_footer(), '\n')) reader.read(line);
  reader.end_of_paragraph();
  add_types(help, command);
  return help;
}

std::vector<VerbHelp> help_of_all(const CLI::App& weir) {
  std::vector<VerbHelp> all;
  for (const CLI::App* command : weir.get_subcommands([](const CLI::App*) { return true; })) {
    all.push_back(help_of(*command));
  }
  return all;
}

}  // namespace weir::cli
