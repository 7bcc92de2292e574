// The verb top.
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <thread>

#include "cli/input.hpp"
#include "cli/live_screen.hpp"
#include "cli/remote.hpp"
#include "cli/server_verbs.hpp"
#include "cli/top_view.hpp"

namespace weir::cli {
namespace {

constexpr std::string_view help =
    R"(What a running server decides, and for which keys: a table kept up to date.

Examples:
  weir top
  weir top --once --server unix:/run/weir/weir.sock
  weir top --json --every 10s >> top.jsonl

Usage: weir top [OPTION...]

  --every DURATION     how long between looks (1s)
  --once               looks for that long, prints one table and ends
  --json               an object a line
  --server ADDRESS     HOST:PORT (127.0.0.1:7379), tls:HOST:PORT or unix:PATH
  --password-file FILE the server's password
  --tls-ca FILE        PEM: whom to trust (whom this machine trusts)
  --tls-cert FILE      PEM: a certificate to show
  --tls-key FILE       PEM: its key

Ends with q or Ctrl-C. Without a terminal it is --once unless --every is given.
Exit codes: 0 ok; 2 bad usage or input; 3 the server cannot be reached.
)";

using Clock = LiveScreen::Clock;
constexpr std::int64_t keys_unless_screen = 10;
constexpr std::int64_t most_keys = 128;  ///< that a server tells of

struct Wishes {
  std::string every_text;
  Span every{1'000'000};
  bool once = false;
  bool json = false;
  Remote remote;
};

/// A server that is read again and again; after a failure it is connected anew.
class Watch {
 public:
  explicit Watch(const Remote& remote) : remote_(remote) {}

  /// How it was since the last time; nothing the first time.
  Expected<std::optional<TopFigures>, RemoteError> look(std::int64_t keys) {
    auto reading = read(keys);
    if (!reading) {
      conversation_.reset();
      return reading.error();
    }
    std::optional<TopFigures> figures;
    if (last_) figures = between({.before = *last_, .after = *reading});
    last_ = std::move(reading).value();
    return figures;
  }

 private:
  Expected<TopReading, RemoteError> read(std::int64_t keys) {
    if (!conversation_) {
      auto begun = Conversation::begin(remote_);
      if (!begun) return begun.error();
      conversation_.emplace(std::move(begun).value());
    }
    const std::string count = std::to_string(keys);
    const std::array<std::string_view, 3> ask_top{"WEIR.TOP", "COUNT", count};
    const std::array<std::string_view, 1> ask_info{"INFO"};
    const auto top = conversation_->ask(ask_top);
    if (!top) return top.error();
    if (top->type == wire::ReplyType::error) return said_by_server(*top);
    const auto info = conversation_->ask(ask_info);
    if (!info) return info.error();
    auto reading = read_top({.top = *top, .info = *info});
    if (!reading) {
      return RemoteError{remote_.address + " answers WEIR.TOP as no weir does; is it one?",
                         ExitCode::bad_input};
    }
    return *std::move(reading);
  }

  const Remote& remote_;
  std::optional<Conversation> conversation_;
  std::optional<TopReading> last_;
};

/// A table below the other, or an object a line.
ExitCode print_lines(const Wishes& wishes, const Console& console) {
  Watch watch(wishes.remote);
  const TopFrame frame{.columns = console.screen.columns,
                       .characters = console.screen.characters,
                       .colour = console.screen.colour};
  const std::chrono::microseconds pause{wishes.every.count()};
  bool first = true;
  for (auto due = Clock::now();; due += pause) {
    std::this_thread::sleep_until(due);
    const auto figures = watch.look(keys_unless_screen);
    if (!figures) {
      report(console.err, {figures.error().message});
      return figures.error().code;
    }
    if (!*figures) continue;
    if (wishes.json) {
      console.out << as_json(**figures).text() << '\n';
    } else {
      if (!first) console.out << '\n';
      for (const std::string& line : table(**figures, frame)) console.out << line << '\n';
    }
    first = false;
    console.out.flush();
    if (wishes.once || !console.out) return ExitCode::ok;
  }
}

/// The terminal's screen, until somebody ends it. A server that goes is waited for.
ExitCode show_live(const Wishes& wishes, const Console& console) {
  Watch watch(wishes.remote);
  const auto begun = watch.look(most_keys);
  if (!begun) {
    report(console.err, {begun.error().message});
    return begun.error().code;
  }
  const std::chrono::microseconds pause{wishes.every.count()};
  std::optional<TopFigures> figures;
  std::string trouble;
  LiveScreen screen(console.out);
  const auto draw = [&] {
    const auto [columns, rows] = LiveScreen::size();
    TopFrame frame{.columns = columns,
                   .rows = rows,
                   .characters = console.screen.characters,
                   .colour = console.screen.colour};
    std::vector<std::string> lines;
    if (!trouble.empty() && frame.rows > 1) {
      lines.push_back(cut_to(trouble, frame));
      --frame.rows;
    }
    if (figures) {
      const auto shown = table(*figures, frame);
      lines.insert(lines.end(), shown.begin(), shown.end());
    }
    screen.draw(lines);
  };
  // Nobody waits a minute for the first table.
  auto due = Clock::now() + std::min<Clock::duration>(pause, std::chrono::seconds(1));
  for (;;) {
    switch (screen.wait_until(due)) {
      case LiveScreen::Event::ended: return ExitCode::ok;
      case LiveScreen::Event::resized: break;
      case LiveScreen::Event::due: {
        auto seen = watch.look(most_keys);
        trouble = seen ? "" : seen.error().message;
        if (seen && *seen) figures = *std::move(seen).value();
        due = Clock::now() + pause;
      }
    }
    draw();
  }
}

ExitCode watch(Wishes wishes, const Console& console) {
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  if (!wishes.every_text.empty()) {
    const auto every = read_span({.name = "--every", .text = wishes.every_text});
    if (!every) {
      report(console.err, every.error());
      return ExitCode::bad_input;
    }
    wishes.every = *every;
    if (wishes.every < Span{100'000} || wishes.every > Span{86'400'000'000}) {
      report(console.err, {"--every must be from 100ms to 1d", wishes.every_text, 0});
      return ExitCode::bad_input;
    }
  }
  if (!terminal && wishes.every_text.empty()) wishes.once = true;
  const bool live = terminal && !wishes.once && !wishes.json;
  return live ? show_live(wishes, console) : print_lines(wishes, console);
}

}  // namespace

Verb add_top(CLI::App& weir) {
  const auto wishes = std::make_shared<Wishes>();
  CLI::App* command =
      weir.add_subcommand("top", "what a running server decides, as it goes")->group(also);
  command->add_option("--every", wishes->every_text);
  command->add_flag("--once", wishes->once);
  command->add_flag("--json", wishes->json);
  add_options(*command, wishes->remote);
  return {command, help, "", [wishes](const Console& console) { return watch(*wishes, console); }};
}

}  // namespace weir::cli
