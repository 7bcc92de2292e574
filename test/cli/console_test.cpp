#include "cli/console.hpp"

#include <gtest/gtest.h>

#include <map>

namespace weir::cli {
namespace {

using Variables = std::map<std::string, std::string>;

Screen screen(std::optional<std::size_t> terminal_columns, const Variables& variables) {
  return screen_in({terminal_columns, [&](const char* name) {
                      const auto found = variables.find(name);
                      return found == variables.end() ? std::string() : found->second;
                    }});
}

TEST(Screen, IsAsWideAsTheTerminalWithin40And100Columns) {
  EXPECT_EQ(screen(57, {}).columns, 57U);
  EXPECT_EQ(screen(10, {}).columns, 40U);
  EXPECT_EQ(screen(250, {}).columns, 100U);
}

TEST(Screen, Has80ColumnsWhereNobodySaysHowMany) {
  EXPECT_EQ(screen({}, {}).columns, 80U);
  EXPECT_EQ(screen(0, {}).columns, 80U);
}

TEST(Screen, HasColourOnATerminalAlone) {
  EXPECT_EQ(screen(80, {}).colour, Colour::ansi);
  EXPECT_EQ(screen({}, {}).colour, Colour::none);
}

TEST(Screen, HasNoColourWhereNoColorIsSetOrTheTerminalIsDumb) {
  EXPECT_EQ(screen(80, {{"NO_COLOR", "1"}}).colour, Colour::none);
  EXPECT_EQ(screen(80, {{"NO_COLOR", ""}}).colour, Colour::ansi);
  EXPECT_EQ(screen(80, {{"TERM", "dumb"}}).colour, Colour::none);
}

TEST(Screen, ShowsUtf8WhereTheLocaleSaysSo) {
  EXPECT_EQ(screen({}, {{"LANG", "en_GB.UTF-8"}}).characters, Characters::utf8);
  EXPECT_EQ(screen({}, {{"LANG", "zh_CN.utf8"}}).characters, Characters::utf8);
  EXPECT_EQ(screen({}, {{"LANG", "zh_CN.GB18030"}}).characters, Characters::ascii);
  EXPECT_EQ(screen({}, {}).characters, Characters::ascii);
}

TEST(Screen, HearsLcAllBeforeLcCtypeBeforeLang) {
  EXPECT_EQ(screen({}, {{"LC_ALL", "C"}, {"LANG", "C.UTF-8"}}).characters, Characters::ascii);
  EXPECT_EQ(screen({}, {{"LC_CTYPE", "C.UTF-8"}, {"LANG", "C"}}).characters, Characters::utf8);
  EXPECT_EQ(screen({}, {{"LC_ALL", ""}, {"LANG", "C.UTF-8"}}).characters, Characters::utf8);
}

}  // namespace
}  // namespace weir::cli
