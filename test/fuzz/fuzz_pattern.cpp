// A pattern, a line feed, and a text: refused with a column inside the pattern, or matched as the
// textbook's table of all prefixes says.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <vector>

#include "gateway/pattern.hpp"

namespace {

using weir::gateway::Pattern;

void require(bool holds, const char* what) {
  if (holds) return;
  std::cerr << "broken: " << what << '\n';
  std::abort();
}

/// Whether each beginning of the text matches, after each token of the pattern.
bool by_table(std::string_view pattern, std::string_view text) {
  std::vector<bool> row(text.size() + 1, false);
  row[0] = true;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '*') {
      for (std::size_t j = 1; j < row.size(); ++j) row[j] = row[j] || row[j - 1];
      continue;
    }
    if (pattern[i] == '\\') ++i;
    for (std::size_t j = row.size() - 1; j > 0; --j) {
      row[j] = row[j - 1] && text[j - 1] == pattern[i];
    }
    row[0] = false;
  }
  return row.back();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view pattern = input.substr(0, input.find('\n'));
  const std::string_view text =
      pattern.size() < input.size() ? input.substr(pattern.size() + 1) : std::string_view();
  const auto read = Pattern::parse(pattern);
  if (!read) {
    require(read.error().column >= 1 && read.error().column <= pattern.size() + 1, "a column");
    require(!read.error().message.empty(), "what was expected");
    return 0;
  }
  if (pattern.size() * text.size() > 1'000'000) return 0;  // the table would take a second
  require(read->matches(text) == by_table(pattern, text), "the table says otherwise");
  return 0;
}
