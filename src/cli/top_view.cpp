#include "cli/top_view.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>

namespace weir::cli {
namespace {

constexpr std::size_t narrow = 72;  ///< below so many columns the table says less

std::string fixed(double number, int digits) {
  std::array<char, 400> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number,
                                 std::chars_format::fixed, digits);
  return {text.data(), end.ptr};
}

std::string percent(double share) { return fixed(share * 100, 1) + " %"; }

std::string bytes_in_words(std::int64_t bytes) {
  constexpr std::array units{" B", " KiB", " MiB", " GiB", " TiB"};
  auto number = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (number >= 1024 && unit + 1 < units.size()) {
    number /= 1024;
    ++unit;
  }
  return fixed(number, unit == 0 || number >= 100 ? 0 : 1) + units[unit];
}

std::string time_in_words(std::int64_t seconds) {
  const std::int64_t minutes = seconds / 60;
  const std::int64_t hours = minutes / 60;
  const auto text = [](std::int64_t number, const char* unit) {
    return std::to_string(number) + unit;
  };
  if (minutes == 0) return text(seconds, "s");
  if (hours == 0) return text(minutes, "m") + " " + text(seconds % 60, "s");
  if (hours < 24) return text(hours, "h") + " " + text(minutes % 60, "m");
  return text(hours / 24, "d") + " " + text(hours % 24, "h");
}

/// The text in so many columns; all is ASCII but the mark of what was cut.
std::string cut(const std::string& text, std::size_t columns, Characters characters) {
  if (text.size() <= columns) return text;
  const std::string mark = characters == Characters::utf8 ? "…" : "...";
  const std::size_t mark_columns = characters == Characters::utf8 ? 1 : 3;
  if (columns < mark_columns) return text.substr(0, columns);
  return text.substr(0, columns - mark_columns) + mark;
}

struct Style {
  const char* begin;
};
constexpr Style bold{"\x1b[1m"};
constexpr Style alarming{"\x1b[31m"};
constexpr Style noticeable{"\x1b[33m"};

/// A line that is written from left to right.
class Line {
 public:
  explicit Line(const TopFrame& frame) : frame_(frame) {}

  Line& left(const std::string& text, std::size_t columns) {
    const std::string shown = cut(text, columns, frame_.characters);
    text_ += shown + std::string(columns - columns_of(shown), ' ');
    return *this;
  }
  Line& right(const std::string& text, std::size_t columns, const Style* style = nullptr) {
    const std::size_t taken = std::min(columns, columns_of(text));
    text_ += std::string(columns - taken, ' ') + styled(text, style);
    return *this;
  }
  std::string done(const Style* style = nullptr) const {
    return styled(text_.substr(0, text_.find_last_not_of(' ') + 1), style);
  }

 private:
  static std::size_t columns_of(const std::string& text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
  }
  std::string styled(const std::string& text, const Style* style) const {
    if (!style || frame_.colour == Colour::none) return text;
    return style->begin + text + "\x1b[0m";
  }

  const TopFrame& frame_;
  std::string text_;
};

/// Pieces with commas between them, on as many lines as they need.
void add_pieces(const std::vector<std::string>& pieces, const TopFrame& frame,
                std::vector<std::string>& lines) {
  std::string line;
  for (const std::string& piece : pieces) {
    if (!line.empty() && line.size() + 2 + piece.size() > frame.columns) {
      lines.push_back(cut_to(line + ",", frame));
      line.clear();
    }
    line += (line.empty() ? "" : ", ") + piece;
  }
  lines.push_back(cut_to(line, frame));
}

void add_summary(const TopFigures& figures, const TopFrame& frame,
                 std::vector<std::string>& lines) {
  const TopReading& now = figures.now;
  const auto refused = figures.all.refused();
  add_pieces({"weir " + escaped(now.version), "up " + time_in_words(now.up_s),
              short_number(figures.all.all_per_s()) + " decisions/s",
              (refused ? percent(*refused) : "none") + " refused",
              std::to_string(now.connections) + " connections"},
             frame, lines);
  add_pieces(
      {(now.keys < 1000 ? std::to_string(now.keys) : short_number(static_cast<double>(now.keys))) +
           " keys",
       bytes_in_words(now.table_bytes) + " of states",
       bytes_in_words(now.resident_bytes) + " resident", "CPU " + percent(figures.cpu),
       short_number(figures.shared_per_s) + " shared/s"},
      frame, lines);
}

const Style* style_of(const std::optional<double>& refused) {
  if (!refused || *refused == 0) return nullptr;
  return *refused >= 0.5 ? &alarming : &noticeable;
}

struct Column {
  const char* name;
  std::size_t verdict;
  std::size_t width;
  bool if_narrow;
};
constexpr std::array limit_columns{
    Column{"granted/s", 0, 11, true}, Column{"deferred/s", 1, 12, false},
    Column{"denied/s", 2, 10, true}, Column{"impossible/s", 3, 14, false}};
constexpr std::size_t refused_width = 9;

void add_limits(const TopFigures& figures, std::size_t rows, const TopFrame& frame,
                std::vector<std::string>& lines) {
  std::vector<Column> columns;
  std::size_t name_width = frame.columns - refused_width;
  for (const Column& each : limit_columns) {
    if (frame.columns < narrow && !each.if_narrow) continue;
    columns.push_back(each);
    name_width -= each.width;
  }
  const std::size_t shown = std::min(rows, figures.limits.size());
  std::string head = "limit";
  if (shown < figures.limits.size()) {
    head += " (" + std::to_string(shown) + " of " + std::to_string(figures.limits.size()) + ")";
  }
  Line titles(frame);
  titles.left(head, name_width);
  for (const Column& each : columns) titles.right(each.name, each.width);
  lines.push_back(titles.right("refused", refused_width).done(&bold));
  for (const TopFigures::Limit& limit : std::span(figures.limits).first(shown)) {
    Line line(frame);
    line.left(escaped(limit.name), name_width - 1).left("", 1);
    for (const Column& each : columns) {
      line.right(short_number(limit.decisions_per_s[each.verdict]), each.width);
    }
    const auto refused = limit.refused();
    line.right(refused ? percent(*refused) : "-", refused_width, style_of(refused));
    lines.push_back(line.done());
  }
}

struct KeyTable {
  const char* title;
  const char* rate;
  const std::vector<TopKey>& keys;
};

void add_keys(const KeyTable& table, std::size_t rows, const TopFrame& frame,
              std::vector<std::string>& lines) {
  constexpr std::size_t rate_width = 11;
  constexpr std::size_t error_width = 10;
  const std::size_t limit_width = frame.columns < narrow ? 0 : frame.columns / 4;
  const std::size_t key_width = frame.columns - limit_width - rate_width - error_width;
  const std::string sign = frame.characters == Characters::utf8 ? "±" : "+-";
  lines.push_back(Line(frame)
                      .left(table.title, key_width)
                      .left("limit", limit_width)
                      .right(table.rate, rate_width)
                      .right(sign, error_width)
                      .done(&bold));
  for (const TopKey& key : std::span(table.keys).first(std::min(rows, table.keys.size()))) {
    std::string shown = key.bytes == 0 ? "\"\"" : escaped(key.begin);
    if (key.bytes > static_cast<std::int64_t>(key.begin.size())) {
      shown += "... (" + std::to_string(key.bytes) + " bytes)";
    }
    lines.push_back(Line(frame)
                        .left(shown, key_width - 1)
                        .left("", 1)
                        .left(escaped(key.limit), limit_width)
                        .right(short_number(key.calls_per_s), rate_width)
                        .right(short_number(key.error_per_s), error_width)
                        .done());
  }
  if (table.keys.empty() && rows > 0) lines.emplace_back("none lately");
}

/// How the rows that are left are shared out.
struct Shares {
  std::size_t limits;
  std::size_t hottest;
  std::size_t most_refused;
};

Shares share_out(const TopFigures& figures, std::size_t rows) {
  Shares shares{figures.limits.size(), std::max<std::size_t>(1, figures.now.hottest.size()),
                std::max<std::size_t>(1, figures.now.most_refused.size())};
  const std::size_t keys = shares.hottest + shares.most_refused;
  if (shares.limits + keys <= rows) return shares;
  shares.limits = std::min(shares.limits, std::max(rows / 3, keys < rows ? rows - keys : 0));
  rows -= shares.limits;
  shares.most_refused = std::min(
      shares.most_refused, std::max(rows / 2, shares.hottest < rows ? rows - shares.hottest : 0));
  shares.hottest = std::min(shares.hottest, rows - shares.most_refused);
  return shares;
}

}  // namespace

std::string short_number(double number) {
  if (number < 0.05) return "0";
  constexpr std::array units{"", "k", "M", "G", "T"};
  std::size_t unit = 0;
  while (number >= 999.5 && unit + 1 < units.size()) {
    number /= 1000;
    ++unit;
  }
  const int digits = number >= 99.95 ? 0 : number >= 9.995 || unit == 0 ? 1 : 2;
  return fixed(number, digits) + units[unit];
}

std::string cut_to(const std::string& text, const TopFrame& frame) {
  return cut(text, frame.columns, frame.characters);
}

std::vector<std::string> table(const TopFigures& figures, const TopFrame& wanted) {
  TopFrame frame = wanted;
  frame.columns = std::max<std::size_t>(frame.columns, 40);
  std::vector<std::string> lines;
  add_summary(figures, frame, lines);
  constexpr std::size_t titles = 6;  // and the blank lines before them
  const std::size_t used = lines.size() + titles;
  const std::size_t rows = frame.rows == 0     ? figures.limits.size() + 1'000
                           : frame.rows > used ? frame.rows - used
                                               : 0;
  const Shares shares = share_out(figures, rows);
  lines.emplace_back();
  add_limits(figures, shares.limits, frame, lines);
  lines.emplace_back();
  add_keys({"hottest keys", "calls/s", figures.now.hottest}, shares.hottest, frame, lines);
  lines.emplace_back();
  add_keys({"most refused keys", "refused/s", figures.now.most_refused}, shares.most_refused, frame,
           lines);
  if (frame.rows > 0 && lines.size() > frame.rows) lines.resize(frame.rows);
  return lines;
}

}  // namespace weir::cli
