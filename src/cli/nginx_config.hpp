// What nginx's configuration says, as far as limit_req goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::cli {

/// A directive, or what opens or ends a block.
struct NginxDirective {
  std::size_t line = 0;
  std::vector<std::string> words{};
  char end = ';';  ///< or '{', '}', or 0 at the end of the text
};

/// Reads words, quotes and comments.
class NginxReader {
 public:
  explicit NginxReader(std::string_view text) : text_(text) {}

  NginxDirective next();

 private:
  void step() { line_ += text_[at_++] == '\n' ? 1 : 0; }
  void skip_blanks();
  std::string word();

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

/// Which requests a location is for.
struct NginxLocation {
  /// `first`: a prefix that no regular expression goes before.
  enum class Form : std::uint8_t { exact, first, prefix, expression };

  Form form = Form::prefix;
  std::string path{};                 ///< as the file has it, but of an expression
  std::vector<std::string> routes{};  ///< patterns for the same; none: no pattern says that
  bool any_case = false;              ///< the patterns know one case

  /// Of the words of `location [MARK] PATH`.
  static NginxLocation of(const std::vector<std::string>& words);
};

/// A key of nginx's variables, "$binary_remote_addr$uri", as a template; texts between variables
/// change nothing of which keys are equal. Nothing where a variable has no counterpart.
std::optional<std::string> nginx_key(std::string_view text);

/// In such a template: the name of the server block that a request is in, which no call says.
inline constexpr std::string_view server_name_in_key = "{server_name}";

}  // namespace weir::cli
