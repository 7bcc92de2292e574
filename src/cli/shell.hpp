// What shells ask to complete a command line.
#pragma once

#include <string>
#include <vector>

#include "cli/help_page.hpp"

namespace weir::cli {

enum class Shell : std::uint8_t { bash, zsh, fish };

/// A script that teaches the shell the verbs, their options, and the words that options take.
std::string completion_for(Shell shell, const std::vector<VerbHelp>& verbs);

}  // namespace weir::cli
