#include "cli/report.hpp"

#include <algorithm>
#include <numeric>
#include <ostream>
#include <string>

#include "cli/picture.hpp"
#include "weir/duration.hpp"
#include "wire/json.hpp"

namespace weir::cli {
namespace {

/// Lines, handed on in blocks: a stream takes longer over each call than over each byte.
class Lines {
 public:
  explicit Lines(std::ostream& out) : out_(out) {}
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  ~Lines() { flush(); }

  void add(std::string_view line) {
    text_ += line;
    text_ += '\n';
    if (text_.size() > 60'000) flush();
  }

 private:
  void flush() {
    out_ << text_;
    text_.clear();
  }

  std::ostream& out_;
  std::string text_;
};

std::string right_aligned(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

/// The instants of a schedule in one unit, the longest that all of them are whole in.
class TimeColumn {
 public:
  explicit TimeColumn(const Schedule& schedule) {
    std::int64_t common = 0;
    Instant last{};
    for (const Calls& calls : schedule) {
      common = std::gcd(common, calls.first_at.time_since_epoch().count());
      if (calls.count > 1) common = std::gcd(common, calls.every.count());
      last = std::max(last, calls.last_at());
    }
    // That a common divisor prints with some unit means that all its multiples have it.
    unit_name_ = print_duration(Span{common});
    unit_name_.erase(0, unit_name_.find_first_not_of("0123456789"));
    unit_ = read_duration(unit_name_).value().span;
    width_ = text(last).size() + 2;
  }

  std::string operator()(Instant at) const { return right_aligned(text(at), width_); }

 private:
  std::string text(Instant at) const {
    return std::to_string(at.time_since_epoch() / unit_) + unit_name_;
  }

  std::string unit_name_;
  Span unit_{1};
  std::size_t width_ = 0;
};

std::string padded(Verdict verdict, const Screen& screen) {
  std::string word = name(verdict);
  word.resize(std::max<std::size_t>(word.size(), 8), ' ');
  return painted(verdict, word, screen);
}

std::string consequence(Instant now, const Decision& decision, const Limit& limit) {
  switch (decision.verdict) {
    case Verdict::granted: return "";
    case Verdict::deferred: return "  acts in " + print_duration(decision.ready_at - now);
    case Verdict::denied: return "  retry in " + print_duration(decision.ready_at - now);
    case Verdict::impossible:
      return "  never: at most " + std::to_string(Limit::Machine::capacity(limit.config())) +
             " can be taken at once";
  }
  return "";
}

std::string summary_in_words(const Tally& tally, Cost cost) {
  using enum Verdict;
  std::string text = std::to_string(tally.calls()) + (tally.calls() == 1 ? " call: " : " calls: ");
  const char* separator = "";
  for (const Verdict verdict : {granted, deferred, denied, impossible}) {
    if (verdict == impossible && tally.count(impossible) == 0) continue;
    text += separator + std::to_string(tally.count(verdict)) + " " + name(verdict);
    separator = ", ";
  }
  for (const Tally::Window& window : tally.windows()) {
    text += "\nmost within any " + print_duration(window.length) + ": " +
            std::to_string(window.most) + (cost == 1 ? "" : " units") + "; the bound is " +
            std::to_string(window.bound);
  }
  return text;
}

}  // namespace

void report_as_text(const Simulation& simulation, const Console& console) {
  Tally tally(simulation);
  const TimeColumn time(simulation.schedule);
  Lines lines(console.out);
  const std::size_t digits =
      std::to_string(Limit::Machine::capacity(simulation.limit.config())).size();
  for_each_decision(simulation, [&](Instant now, const Decision& decision) {
    tally.add(decision);
    lines.add(time(now) + "  " + padded(decision.verdict, console.screen) + "  " +
              right_aligned(std::to_string(decision.remaining), digits) + " left" +
              consequence(now, decision, simulation.limit));
  });
  lines.add("");
  lines.add(summary_in_words(tally, simulation.cost));
  lines.add("");
  lines.add(picture(simulation, console.screen));
}

void report_as_json(const Simulation& simulation, std::ostream& out) {
  Tally tally(simulation);
  Lines lines(out);
  for_each_decision(simulation, [&](Instant now, const Decision& decision) {
    tally.add(decision);
    const Span wait = decision.verdict == Verdict::impossible ? Span{-1} : decision.ready_at - now;
    lines.add(wire::Json::object()
                  .member("at_us", now.time_since_epoch().count())
                  .member("verdict", name(decision.verdict))
                  .member("remaining", decision.remaining)
                  .member("retry_after_us", taken(decision.verdict) ? 0 : wait.count())
                  .member("ready_after_us", taken(decision.verdict) ? wait.count() : 0)
                  .text());
  });
  wire::Json windows = wire::Json::array();
  for (const Tally::Window& window : tally.windows()) {
    windows.element(wire::Json::object()
                        .member("window_us", window.length.count())
                        .member("most", window.most)
                        .member("bound", window.bound));
  }
  lines.add(wire::Json::object()
                .member("summary", wire::Json::object()
                                       .member("limit", simulation.limit.text())
                                       .member("cost", simulation.cost)
                                       .member("calls", tally.calls())
                                       .member("granted", tally.count(Verdict::granted))
                                       .member("deferred", tally.count(Verdict::deferred))
                                       .member("denied", tally.count(Verdict::denied))
                                       .member("impossible", tally.count(Verdict::impossible))
                                       .member("windows", windows))
                .text());
}

}  // namespace weir::cli
