// The manual page weir(1).
#pragma once

#include <string>
#include <vector>

#include "cli/help_page.hpp"

namespace weir::cli {

struct ManualParts {
  std::string version;
  std::string summary;        ///< of the program
  std::string limit_grammar;  ///< in lines that stay as they are
  std::string exit_codes;
  std::vector<VerbHelp> verbs;
};

/// In man(7), for `man -l` or a folder man1.
std::string manual_page(const ManualParts& parts);

}  // namespace weir::cli
