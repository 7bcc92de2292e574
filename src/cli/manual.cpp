#include "cli/manual.hpp"

#include <algorithm>
#include <string_view>

namespace weir::cli {
namespace {

/// When what the page says last changed.
constexpr std::string_view date = "2026-11-20";

/// As roff prints it back: no escapes, no dashes made of hyphens, no requests.
std::string roff(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '\\': safe += "\\e"; break;
      case '-': safe += "\\-"; break;
      case '\'': safe += "\\(aq"; break;
      case '`': safe += "\\(ga"; break;
      case '^': safe += "\\(ha"; break;
      case '~': safe += "\\(ti"; break;
      default: safe += c;
    }
  }
  if (safe.starts_with('.')) safe.insert(0, "\\&");
  return safe;
}

/// Filled text; each sentence, and each line above 70 characters, begins a line of the source.
std::string filled(std::string_view text) {
  std::string page;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (column > 0 && column + word.size() > 60) {
      page += '\n';
      column = 0;
    } else if (column > 0) {
      page += ' ';
    }
    page += roff(word);
    column += word.size() + 1;
    if (word.ends_with('.') && !word.ends_with("..")) {
      page += '\n';
      column = 0;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (!page.ends_with('\n')) page += '\n';
  return page;
}

std::string as_it_is(const std::vector<std::string>& lines) {
  std::string page = ".PP\n.RS 4\n.nf\n";
  for (const std::string& line : lines) page += roff(line) + "\n";
  return page + ".fi\n.RE\n";
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// "weir admits ... ." without the name and the full stop, as a page's NAME has it.
std::string_view brief_of(std::string_view summary) {
  if (summary.starts_with("weir ")) summary.remove_prefix(5);
  if (summary.ends_with('.')) summary.remove_suffix(1);
  return summary;
}

std::string section_of(const VerbHelp& verb) {
  std::string page = ".SS weir " + roff(verb.name) + "\n" + filled(verb.summary);
  page += as_it_is(verb.usage);
  for (const OptionHelp& option : verb.options) {
    page += ".TP\n\\fB" + roff(option.name) + "\\fR";
    if (!option.value.empty()) page += " \\fI" + roff(option.value) + "\\fR";
    page += "\n" + filled(option.text);
  }
  for (const std::string& note : verb.notes) page += ".PP\n" + filled(note);
  page += ".PP\n" + filled("Exit codes: " + verb.exit_codes);
  page += ".PP\nExamples:\n" + as_it_is(verb.examples);
  return page;
}

}  // namespace

std::string manual_page(const ManualParts& parts) {
  std::string page = ".\\\" Made by: weir man\n.TH WEIR 1 " + std::string(date) + " \"weir " +
                     parts.version + "\" \"User Commands\"\n.SH NAME\nweir \\- " +
                     filled(brief_of(parts.summary));
  page +=
      ".SH SYNOPSIS\n.B weir\n.I verb\n.RI [ option ...]\n.br\n.B weir\n.I verb\n.B \\-\\-help\n";
  page += ".SH DESCRIPTION\n" + filled(parts.summary);
  page += as_it_is(lines_of(parts.limit_grammar));
  page += ".SH VERBS\n";
  for (const VerbHelp& verb : parts.verbs) page += section_of(verb);
  page += ".SH EXIT STATUS\n" + filled(parts.exit_codes);
  page += ".SH SEE ALSO\n.BR redis\\-cli (1)\n";
  return page;
}

}  // namespace weir::cli
