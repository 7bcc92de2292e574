// Spans that people count in.
#pragma once

#include "weir/vocabulary.hpp"

namespace weir::cli {

/// The shortest span that is not below this one and that people count in: 1, 2 or 5 times a power
/// of ten up to seconds, then clock time, then 1, 2 or 5 times a power of ten days.
Span round_span(Span least);

}  // namespace weir::cli
