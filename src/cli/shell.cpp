#include "cli/shell.hpp"

namespace weir::cli {
namespace {

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += separator;
    text += word;
  }
  return text;
}

std::vector<std::string> names_of(const std::vector<VerbHelp>& verbs) {
  std::vector<std::string> names;
  names.reserve(verbs.size());
  for (const VerbHelp& verb : verbs) names.push_back(verb.name);
  return names;
}

/// As bash and zsh read it between single quotes.
std::string shell_quoted(std::string_view text) {
  std::string safe = "'";
  for (const char c : text) {
    if (c == '\'') {
      safe += "'\\''";
    } else {
      safe += c;
    }
  }
  return safe + "'";
}

// ---- bash ----

constexpr std::string_view bash_head =
    R"(# Completion of weir for bash. Made by: weir completion bash
_weir() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words
  # bash takes --option=value for three words.
  if [[ $current == '=' ]]; then
    current=
  elif [[ $before == '=' ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  COMPREPLY=()
)";

std::string bash_words(const std::string& words) {
  return "COMPREPLY=($(compgen -W " + shell_quoted(words) + " -- \"$current\"))";
}

/// A case for each kind of value of a verb's options.
std::string bash_values(const VerbHelp& verb) {
  std::string cases;
  std::vector<std::string> free;
  for (const OptionHelp& option : verb.options) {
    const std::string pattern = shell_quoted(verb.name + " " + option.name);
    if (!option.words.empty()) {
      cases += "    " + pattern + ")\n      " + bash_words(joined(option.words, " ")) +
               "\n      return ;;\n";
    } else if (option.names_a_file) {
      cases += "    " + pattern +
               ")\n      compopt -o filenames\n"
               "      COMPREPLY=($(compgen -f -- \"$current\"))\n      return ;;\n";
    } else if (!option.value.empty()) {
      free.push_back(pattern);
    }
  }
  if (!free.empty()) cases += "    " + joined(free, " | \\\n      ") + ")\n      return ;;\n";
  return cases;
}

std::string bash(const std::vector<VerbHelp>& verbs) {
  const std::string names = joined(names_of(verbs), " ");
  std::string script(bash_head);
  script += "  if ((COMP_CWORD == 1)); then\n    " + bash_words(names + " help --help --version") +
            "\n    return\n  fi\n  case \"${COMP_WORDS[1]} $before\" in\n";
  for (const VerbHelp& verb : verbs) script += bash_values(verb);
  script += "  esac\n  case ${COMP_WORDS[1]} in\n    help) words=" + shell_quoted(names) + " ;;\n";
  for (const VerbHelp& verb : verbs) {
    std::vector<std::string> words;
    for (const OptionHelp& option : verb.options) words.push_back(option.name);
    words.emplace_back("--help");
    script += "    " + verb.name + ") words=" + shell_quoted(joined(words, " "));
    if (!verb.words.empty()) {
      script += "\n      [[ $current == -* ]] || words=" + shell_quoted(joined(verb.words, " "));
    }
    script += " ;;\n";
  }
  script += "  esac\n  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n}\n";
  return script + "complete -F _weir weir\n";
}

// ---- zsh ----

/// As a part of an _arguments specification: brackets and colons end such parts.
std::string zsh_part(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') safe += '\\';
    safe += c;
  }
  return safe;
}

std::string zsh_option(const OptionHelp& option) {
  std::string specification = option.repeats ? "*" : "";
  specification += option.name + "[" + zsh_part(option.text) + "]";
  if (!option.value.empty()) {
    specification += ":" + zsh_part(option.value) + ":";
    if (!option.words.empty()) {
      specification += "(" + joined(option.words, " ") + ")";
    } else {
      specification += option.names_a_file ? "_files" : " ";
    }
  }
  return specification;
}

std::string zsh(const std::vector<VerbHelp>& verbs) {
  std::string script =
      "#compdef weir\n# Completion of weir for zsh. Made by: weir completion zsh\n"
      "_weir() {\n  local -a verbs=(\n";
  for (const VerbHelp& verb : verbs) {
    script += "    " + shell_quoted(zsh_part(verb.name) + ":" + verb.brief) + "\n";
  }
  script +=
      "  )\n  if ((CURRENT == 2)) || [[ $words[2] == help ]]; then\n"
      "    _describe -t verbs verb verbs\n    return\n  fi\n"
      "  local verb=$words[2]\n  shift words\n  ((CURRENT--))\n  case $verb in\n";
  for (const VerbHelp& verb : verbs) {
    script += "    " + verb.name + ")\n      _arguments \\\n";
    for (const OptionHelp& option : verb.options) {
      script += "        " + shell_quoted(zsh_option(option)) + " \\\n";
    }
    if (!verb.words.empty()) {
      script += "        " + shell_quoted("1:what:(" + joined(verb.words, " ") + ")") + " \\\n";
    }
    script += "        '--help[how to use it]' ;;\n";
  }
  script += "  esac\n}\n";
  // From a folder of functions the file is run to complete; sourced, it only tells who does.
  return script +
         "if [[ $funcstack[1] == _weir ]]; then\n  _weir \"$@\"\nelse\n"
         "  compdef _weir weir\nfi\n";
}

// ---- fish ----

/// As fish reads it between single quotes.
std::string fish_quoted(std::string_view text) {
  std::string safe = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') safe += '\\';
    safe += c;
  }
  return safe + "'";
}

std::string fish(const std::vector<VerbHelp>& verbs) {
  std::string script =
      "# Completion of weir for fish. Made by: weir completion fish\n"
      "function __weir_has_verb\n  set -l words (commandline -opc)\n"
      "  test (count $words) -ge 2; and contains -- $words[2] $argv\nend\n"
      "function __weir_has_no_verb\n  test (count (commandline -opc)) -eq 1\nend\n"
      "complete -c weir -f\n"
      "complete -c weir -n __weir_has_no_verb -l version -d 'the version of this program'\n"
      "complete -c weir -l help -d 'how to use it'\n"
      "complete -c weir -n '__weir_has_verb help' -a " +
      fish_quoted(joined(names_of(verbs), " ")) + "\n";
  for (const VerbHelp& verb : verbs) {
    script += "complete -c weir -n __weir_has_no_verb -a " + verb.name + " -d " +
              fish_quoted(verb.brief) + "\n";
    const std::string when = "complete -c weir -n '__weir_has_verb " + verb.name + "'";
    if (!verb.words.empty()) script += when + " -a " + fish_quoted(joined(verb.words, " ")) + "\n";
    for (const OptionHelp& option : verb.options) {
      script += when + " -l " + option.name.substr(2);
      if (!option.words.empty()) {
        script += " -x -a " + fish_quoted(joined(option.words, " "));
      } else if (option.names_a_file) {
        script += " -r -F";
      } else if (!option.value.empty()) {
        script += " -x";
      }
      script += " -d " + fish_quoted(option.text) + "\n";
    }
  }
  return script;
}

}  // namespace

std::string completion_for(Shell shell, const std::vector<VerbHelp>& verbs) {
  switch (shell) {
    case Shell::bash: return bash(verbs);
    case Shell::zsh: return zsh(verbs);
    case Shell::fish: return fish(verbs);
  }
  return "";
}

}  // namespace weir::cli
