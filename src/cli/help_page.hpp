// The help of a verb, taken apart: what people read is also what shells and man pages are made of.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace weir::cli {

struct OptionHelp {
  std::string name;   ///< "--cost"
  std::string value;  ///< "N"; empty for a flag
  std::string text;   ///< on one line
  /// What the value may be, where that is a choice of few words.
  std::vector<std::string> words{};
  bool names_a_file = false;
  bool repeats = false;
};

struct VerbHelp {
  std::string name;
  std::string brief;                  ///< the line of `weir --help`
  std::string summary;                ///< the first paragraph
  std::vector<std::string> examples;  ///< commands
  std::vector<std::string> usage;     ///< without the word "Usage:"
  std::vector<OptionHelp> options;
  std::vector<std::string> notes;  ///< paragraphs, a line each
  std::string exit_codes;
  std::vector<std::string> words{};  ///< what may stand without an option, where that is a choice
};

/// Of a verb whose page is its command's footer. What an option takes is what its command says:
/// the type name FILE, or words with '|' between them.
VerbHelp help_of(const CLI::App& command);

/// Of all verbs of the program, in their order.
std::vector<VerbHelp> help_of_all(const CLI::App& weir);

}  // namespace weir::cli
