// A simulation as a picture for a page or a talk: standalone SVG.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/simulation.hpp"

namespace weir::cli {

/// What the picture shows: nothing in it is computed from a limit but what `bound` answers.
struct PictureEvents {
  struct Call {
    Instant at{};       ///< when it comes; calls are in order of that
    Verdict verdict{};  ///< what becomes of it
    Instant acts_at{};  ///< when it acts, where it is taken; in order too
    Cost cost = 1;
  };

  std::string title;                ///< any text
  std::string summary;              ///< any text, a line
  std::vector<Call> calls;          ///< at least one
  std::vector<Span> windows;        ///< lengths to show beside their bound, shortest first
  std::function<Cost(Span)> bound;  ///< the most that acts within any such window
};

/// The most calls that a picture is drawn of.
inline constexpr std::int64_t most_calls_drawn = 1'000'000;

/// The whole picture; the same events always give the same bytes. A mark is a call; where marks
/// would lie on each other a bar counts them instead, so that 100 kB is enough for any picture.
std::string svg_picture(const PictureEvents& events);

/// Requires no more than most_calls_drawn calls.
PictureEvents events_of(const Simulation& simulation);

}  // namespace weir::cli
