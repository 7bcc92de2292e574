// What becomes of another limiter's file: a rule file, and what of it could not be said.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/file_error.hpp"
#include "weir/vocabulary.hpp"

namespace weir::cli {

/// A rule to be printed. What is empty it does not say.
struct NewRule {
  std::size_t line = 0;  ///< in the file that it comes from
  std::string name{};
  std::vector<std::string> routes{};  ///< patterns
  std::vector<std::string> hosts{};
  /// A descriptor's, with the patterns for their values; none: any value.
  std::vector<std::pair<std::string, std::vector<std::string>>> entries{};
  bool whole_descriptor = false;
  std::string key{};
  std::string limit{};
  std::string hold{};
  Cost lease = 1;
  bool shadow = false;
  std::vector<std::string> replaces{};
};

struct Unconverted {
  std::size_t line;
  std::string what;
};

struct Conversion {
  std::string domain = "default";
  std::vector<std::string> remarks{};  ///< what is different from the limiter left
  std::vector<NewRule> rules{};
  std::vector<Unconverted> left_out{};

  /// A name that no rule has yet, like the text, of the characters that a name may have.
  std::string fresh_name(std::string_view text) const;
};

/// A rule file that `weir check` accepts.
std::string print(const Conversion& conversion);

/// The text as a pattern that matches itself, but for its stars, which mean any bytes.
std::string with_stars(std::string_view text);
/// The text as a pattern that matches nothing else.
std::string literal(std::string_view text);

Expected<Conversion, gateway::FileError> convert_envoy(std::string_view text);
/// Of one namespace; it may be empty where the file has only one.
Expected<Conversion, gateway::FileError> convert_limitador(std::string_view text,
                                                           const std::string& domain);
Expected<Conversion, gateway::FileError> convert_nginx(std::string_view text);

}  // namespace weir::cli
