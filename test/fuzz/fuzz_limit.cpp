// Any bytes as a limit: refused with a column inside the text, or read to a canonical text that
// reads to the same limit, with a machine that answers.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "weir/limit.hpp"

namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::cerr << "broken: " << what << '\n';
  std::abort();
}

void use(const weir::Limit& limit) {
  using Machine = weir::Limit::Machine;
  const weir::Instant now{weir::Span{1'750'000'000'000'000}};
  weir::Limit::State state = limit.first_state(now);
  const weir::Cost capacity = Machine::capacity(limit.config());
  require(capacity > 0, "a limit grants something");
  for (const weir::Span later : {weir::Span{0}, weir::Span{1}, weir::longest_span}) {
    const weir::Decision decision =
        weir::step<Machine>(limit.config(), state, {now + later, 1, weir::longest_span});
    require(decision.verdict != weir::Verdict::impossible, "a cost of 1 is possible");
    require(decision.remaining >= 0 && decision.remaining <= decision.limit, "remaining");
  }
  require(Machine::bound(limit.config(), weir::Span{1}, capacity) >= capacity, "the bound");
  require(limit.largest_state_bytes() >= sizeof(weir::Limit::State), "the size of a state");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto limit = weir::Limit::parse(text);
  if (!limit) {
    require(limit.error().column >= 1 && limit.error().column <= size + 1, "the error's column");
    require(!limit.error().message.empty(), "the error's message");
    return 0;
  }
  const auto again = weir::Limit::parse(limit->text());
  require(again.has_value(), "the canonical text is a limit");
  require(again->text() == limit->text(), "the canonical text is canonical");
  require(*again == *limit, "the canonical text is the same limit");
  require(again->config() == limit->config(), "and the same machine");
  use(*limit);
  return 0;
}
